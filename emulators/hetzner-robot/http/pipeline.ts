import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fate, Journal, OpenEntry } from '../../kit/journal.ts';
import { httpDate, type Outcome, sendOutcome } from '../../kit/outcome.ts';
import { comesBefore, createWaits, spoil } from '../../kit/wire-faults.ts';
import { parseForm } from '../api/form.ts';
import { createLogins } from '../api/logins.ts';
import { errorBody, notFound, RobotError } from '../api/robot-error.ts';
import { serverOf } from '../api/routes.ts';
import type { Call, Core, Form, Handler, Route } from '../core.ts';
import type { EffectOf, EffectType, Subject } from '../fault-rules.ts';

/** The way of one request: journal, faults, login, limits, handler, answer. */
export interface Pipeline {
  /** `route` is absent when no path fits. */
  run(arrival: Arrival): Promise<void>;
  /** Ends the waits of `latency`. */
  close(): void;
}

export interface Arrival {
  readonly route: Route | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Occasion extends Arrival {
  readonly entry: OpenEntry;
  readonly call: Call;
  readonly subject: Subject;
}

const MINUTE_MS = 60_000;
const injectedBody = (status: number, message: string) => ({
  error: { status, code: 'INTERNAL_ERROR', message },
});
const maskedForm = (form: Form): object =>
  Object.fromEntries([...form].map(([name, value]) => [name, name === 'data' ? '***' : value]));

/** @param blocked told when the client's address is to be let in no more. */
export function createPipeline(core: Core, journal: Journal, blocked: () => void): Pipeline {
  const { clock, faults, limits } = core;
  const waits = createWaits(clock);
  const logins = createLogins(() => core.credentials);
  let maintenanceEndsMs = 0;

  function open({ route, request, reply }: Arrival, form: Form): OpenEntry {
    const [path = '', rawQuery = ''] = request.url.split('?');
    const entry = journal.open({
      atMs: clock.now(),
      method: request.method,
      route: route?.path ?? path,
      path,
      query: Object.fromEntries(new URLSearchParams(rawQuery)),
      body: form.size === 0 ? null : maskedForm(form),
    });
    reply.raw.once('close', () => {
      if (entry.fate === 'open') end(entry, 'clientGone');
      entry.doneAtMs ??= clock.now();
    });
    return entry;
  }
  function end(entry: OpenEntry, fate: Fate) {
    entry.fate = fate;
    if (fate !== 'hung') entry.doneAtMs = clock.now();
  }

  function callOf({ request }: Arrival, form: Form, subject: Subject, entry: OpenEntry): Call {
    const params = request.params as Record<string, string>;
    const strikeAt = <T extends EffectType>(
      at: Subject,
      type: T,
      fits?: (effect: EffectOf<T>) => boolean,
    ) => {
      const hit = faults.strikeOne([type], at, fits);
      if (hit) entry.faults = [...entry.faults, hit.id];
      return hit?.effect;
    };
    return {
      core,
      method: request.method,
      params,
      form,
      server: () => serverOf(core, params['n']),
      strike: (type, fits) => strikeAt(subject, type, fits),
      strikeOf: ({ number }, type, fits) => strikeAt({ ...subject, server: number }, type, fits),
    };
  }

  /** What comes before anything is done; undefined lets the request pass. */
  async function before({ call, subject, request, reply }: Occasion): Promise<Outcome | undefined> {
    for (const hit of faults.strike(['latency'], subject)) await waits.wait(hit.effect.ms);
    const upkeep = call.strike('maintenance');
    if (upkeep) {
      maintenanceEndsMs = Math.max(maintenanceEndsMs, clock.now() + upkeep.minutes * MINUTE_MS);
    }
    if (clock.now() < maintenanceEndsMs) {
      throw new RobotError(503, 'SERVICE_UNAVAILABLE', 'maintenance');
    }
    const hit =
      call.strike('status', comesBefore) ??
      call.strike('drop', comesBefore) ??
      call.strike('hang', comesBefore);
    if (hit) return spoil(hit, { status: 200 }, injectedBody);
    if (call.strike('loginRefused') || !logins.isRight(request.headers)) {
      if (logins.fail(clock.now())) reply.raw.once('close', blocked);
      throw new RobotError(401, 'UNAUTHORIZED', 'Unauthorized');
    }
    return undefined;
  }

  function act({ route, request, call, entry }: Occasion): Outcome {
    const [, first = ''] = request.url.split(/[/?]/);
    const perUser = call.strike('limitPerUser')?.max;
    limits.count(`${call.method} /${first}`, clock.now(), perUser);
    const handle: Handler | undefined = route?.[call.method as 'GET' | 'POST' | 'PUT' | 'DELETE'];
    if (!route) throw notFound('Path');
    if (!handle) throw new RobotError(405, 'METHOD_NOT_ALLOWED', 'Method not allowed');
    const answer = handle(call);
    entry.executed = true;
    return answer;
  }

  function after({ call }: Occasion, answer: Outcome): Outcome {
    const isAfter = (effect: Parameters<typeof comesBefore>[0]) => !comesBefore(effect);
    const hit =
      call.strike('status', isAfter) ??
      call.strike('drop', isAfter) ??
      call.strike('hang', isAfter) ??
      call.strike('garbage');
    return hit ? spoil(hit, answer, injectedBody) : answer;
  }

  /** What is refused may be lost or spoiled on its way as well. */
  async function serve(occasion: Occasion): Promise<Outcome> {
    const early = await before(occasion);
    if (early) return early;
    return after(occasion, answered(occasion));
  }
  function answered(occasion: Occasion): Outcome {
    try {
      return act(occasion);
    } catch (error) {
      return refusalOf(error);
    }
  }

  function refusalOf(error: unknown): Outcome {
    if (error instanceof RobotError) return { status: error.status, body: errorBody(error) };
    core.log.error({ err: error }, 'a request failed');
    const broken = new RobotError(500, 'INTERNAL_ERROR', 'internal error');
    return { status: 500, body: errorBody(broken) };
  }

  return {
    async run(arrival) {
      const { request, reply } = arrival;
      const form = parseForm(request.body, request.headers['content-type']);
      const entry = open(arrival, form);
      const subject = subjectOf(arrival, core);
      const call = callOf(arrival, form, subject, entry);
      const outcome = await serve({ ...arrival, entry, call, subject }).catch(refusalOf);
      if (outcome.fate === undefined) entry.status = outcome.status;
      if (entry.fate === 'open') end(entry, outcome.fate ?? 'replied');
      const usual = { 'x-request-id': `fake-${entry.seq}`, date: httpDate(clock.now()) };
      sendOutcome(outcome, request, reply, usual);
    },
    close: waits.close,
  };
}

function subjectOf({ route, request }: Arrival, { servers }: Core): Subject {
  const { n } = request.params as { n?: string };
  return {
    method: request.method,
    route: route?.path ?? request.url.split('?')[0] ?? '',
    server: servers.find(({ number }) => String(number) === n)?.number,
  };
}
