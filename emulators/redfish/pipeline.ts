import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Fate, type Journal, maskSecrets, type OpenEntry } from '../kit/journal.ts';
import { httpDate, type Outcome, sendOutcome } from '../kit/outcome.ts';
import { comesBefore, createWaits, spoil } from '../kit/wire-faults.ts';
import { checkAccess, schemeOf } from './access.ts';
import type { Answer, Call, Core, Resource } from './core.ts';
import type { EffectOf, EffectType, Subject } from './fault-rules.ts';
import { entityTagOf, requireMatch } from './etag.ts';
import { errorBody, RedfishError, refusal } from './messages.ts';
import type { FishEntry } from './options.ts';
import type { Power } from './power.ts';
import { ROOT } from './resources/views.ts';
import { startTask } from './resources/tasks.ts';
import type { Bmc } from './world.ts';

export type FishJournal = Journal<Pick<FishEntry, 'bmc' | 'auth'>>;

/** The way of one request: journal, faults, access, handler, answer. */
export interface Pipeline {
  /** `resource` is absent when no path fits. */
  run(occasion: Arrival): Promise<void>;
  /** Ends the waits of `latency`. */
  close(): void;
}

export interface Arrival {
  readonly bmc: Bmc;
  readonly resource: Resource | undefined;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

interface Occasion extends Arrival {
  readonly entry: OpenEntry;
  readonly call: Call;
  readonly subject: Subject;
}

const BROKEN = { code: 'Base.1.8.1.InternalError' };
const injectedBody = (_status: number, message: string) => ({ error: { ...BROKEN, message } });

export function createPipeline(core: Core, power: Power, journal: FishJournal): Pipeline {
  const { clock, faults, profile } = core;
  const waits = createWaits(clock);

  function open({ bmc, resource, request, reply }: Arrival): OpenEntry {
    const [path = '', rawQuery = ''] = request.url.split('?');
    const entry = journal.open({
      atMs: clock.now(),
      method: request.method,
      route: resource?.path ?? path,
      path,
      query: Object.fromEntries(new URLSearchParams(rawQuery)),
      body: maskSecrets(parsed(request) ?? null),
      bmc: bmc.name,
      auth: schemeOf(request.headers),
    });
    bmc.inFlight++;
    bmc.inFlightMax = Math.max(bmc.inFlightMax, bmc.inFlight);
    reply.raw.once('close', () => {
      bmc.inFlight--;
      if (entry.fate === 'open') end(entry, 'clientGone');
      entry.doneAtMs ??= clock.now();
    });
    return entry;
  }
  function end(entry: OpenEntry, fate: Fate) {
    entry.fate = fate;
    if (fate !== 'hung') entry.doneAtMs = clock.now();
  }

  function callOf(arrival: Arrival, subject: Subject, entry: OpenEntry): Call {
    const { bmc, request } = arrival;
    const strike = <T extends EffectType>(type: T, fits?: (effect: EffectOf<T>) => boolean) => {
      const hit = faults.strikeOne([type], subject, fits);
      if (hit) entry.faults = [...entry.faults, hit.id];
      return hit?.effect;
    };
    const offMs = strike('clock')?.offMs ?? 0;
    return {
      method: request.method,
      path: pathOf(request),
      params: request.params as Record<string, string>,
      body: parsed(request),
      bmc,
      power,
      strike,
      time: (atMs) => new Date(atMs + offMs).toISOString(),
      link: (path) => (profile.trailingSlash || path === ROOT ? `${path}/` : path),
    };
  }

  /** What comes before anything is done; undefined lets the request pass. */
  async function before({ bmc, request, call, subject }: Occasion): Promise<Outcome | undefined> {
    const { restart } = bmc;
    if (restart && clock.now() < restart.deafUntilMs) return { status: 0, fate: 'dropped' };
    for (const hit of faults.strike(['latency'], subject)) await waits.wait(hit.effect.ms);
    if (bmc.isHanging && call.method === 'GET') return { status: 0, fate: 'hung' };
    const hit =
      call.strike('status', comesBefore) ??
      call.strike('drop', comesBefore) ??
      call.strike('hang', comesBefore);
    if (hit) return spoil(hit, { status: 200 }, injectedBody);
    const [path = '', query] = request.url.split('?');
    if (profile.trailingSlash && !path.endsWith('/')) {
      const location = `${path}/${query === undefined ? '' : `?${query}`}`;
      return { status: 308, headers: { location } };
    }
    const encoding = request.headers['accept-encoding'];
    const isPlain = call.method === 'GET' && encoding === 'identity';
    if (isPlain && call.strike('identityRefused')) return { status: 406 };
    return undefined;
  }

  function act({ resource, request, bmc, call, entry }: Occasion): Outcome {
    const { method } = call;
    const isOpen = resource?.open?.includes(method) === true;
    if (!isOpen) checkAccess(core, call, request.headers);
    refuseWhileStarting(bmc, call.path, clock.now());
    if (!resource) throw refusal(404, 'ResourceMissingAtURI', call.path);
    if (parsed(request) === NOT_JSON) throw refusal(400, 'MalformedJSON');
    const wanted = request.headers['if-match'];
    if (wanted !== undefined) requireMatch(resource, core, call, wanted);
    const answer = answerOf(resource, core, call);
    entry.executed = true;
    return method === 'POST' || method === 'PATCH' ? asTask(call, answer) : answer;
  }

  const asTask = (call: Call, answer: Answer): Answer => {
    if (answer.status >= 300 || answer.status === 201) return answer;
    const task = call.strike('task');
    return task ? startTask(core, call, task) : answer;
  };

  function after({ call }: Occasion, answer: Outcome): Outcome {
    const isAfter = (effect: Parameters<typeof comesBefore>[0]) => !comesBefore(effect);
    const hit =
      call.strike('status', isAfter) ??
      call.strike('drop', isAfter) ??
      call.strike('hang', isAfter) ??
      call.strike('garbage');
    return hit ? spoil(hit, answer, injectedBody) : answer;
  }

  async function serve(occasion: Occasion): Promise<Outcome> {
    const early = await before(occasion);
    return early ?? after(occasion, act(occasion));
  }

  function refusalOf(error: unknown): Outcome {
    if (error instanceof RedfishError) {
      return { status: error.status, headers: error.headers, body: errorBody(error.messages) };
    }
    core.log.error({ err: error }, 'a request failed');
    return { status: 500, body: errorBody([{ name: 'InternalError' }]) };
  }

  return {
    async run(arrival) {
      const entry = open(arrival);
      const subject = subjectOf(arrival);
      const call = callOf(arrival, subject, entry);
      const outcome = await serve({ ...arrival, entry, call, subject }).catch(refusalOf);
      if (outcome.fate === undefined) entry.status = outcome.status;
      if (entry.fate === 'open') end(entry, outcome.fate ?? 'replied');
      const usual = {
        'x-request-id': `fake-${entry.seq}`,
        date: httpDate(Date.parse(call.time(clock.now()))),
      };
      const headers = { 'odata-version': '4.0', 'cache-control': 'no-cache', ...outcome.headers };
      sendOutcome({ ...outcome, headers }, arrival.request, arrival.reply, usual);
    },
    close: waits.close,
  };
}

const ALLOWED = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/** @throws {RedfishError} 405. */
function answerOf(resource: Resource, core: Core, call: Call): Answer {
  const { GET: view, poll } = resource;
  const method = call.method as 'GET' | 'POST' | 'PATCH' | 'DELETE';
  const handle = method === 'GET' ? poll : resource[method];
  if (handle) return handle(core, call);
  if (method !== 'GET' || !view) throw refusal(405, 'OperationNotAllowed');
  const body = view(core, call);
  const etag = 'Id' in body ? { etag: entityTagOf(resource, core, call) } : {};
  const allow = ALLOWED.filter((one) => one === 'GET' || resource[one]).join(', ');
  return { status: 200, headers: { allow, ...etag }, body };
}

/** A BMC that starts serves its root first, and has no systems yet. */
function refuseWhileStarting(bmc: Bmc, path: string, nowMs: number): void {
  if (!bmc.restart || nowMs >= bmc.restart.doneAtMs) return;
  if (path === ROOT) return;
  if (path.startsWith(`${ROOT}/Systems`)) {
    throw refusal(404, 'ResourceMissingAtURI', path);
  }
  throw busy();
}

const busy = () =>
  new RedfishError(503, [{ name: 'ServiceTemporarilyUnavailable', args: ['10'] }], {
    'retry-after': '10',
  });

const NOT_JSON = '(not JSON)';

function parsed({ body }: FastifyRequest): unknown {
  if (typeof body !== 'string' || body.trim() === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return NOT_JSON;
  }
}

const pathOf = ({ url }: FastifyRequest): string =>
  (url.split('?')[0] ?? '').replace(/(?<=.)\/+$/, '');

function subjectOf({ bmc, resource, request }: Arrival): Subject {
  const { system: id } = request.params as { system?: string };
  const [only, ...others] = bmc.systems;
  const found = bmc.systems.find((one) => one.id === id);
  return {
    method: request.method,
    route: resource?.path ?? pathOf(request),
    bmc: bmc.name,
    system: (found ?? (others.length === 0 ? only : undefined))?.name,
  };
}
