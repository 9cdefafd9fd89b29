import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fate, Journal, OpenEntry } from '../kit/journal.ts';
import { httpDate, sendOutcome, type Outcome } from '../kit/outcome.ts';
import { createRateLimiter, type Verdict } from '../equinix/faults/rate-limit.ts';
import { isSameSecret } from '../kit/same-secret.ts';
import { comesBefore, createWaits, spoil } from '../kit/wire-faults.ts';
import { ApiError, errorBody } from './api-error.ts';
import type { Call, Core, Route, Subject } from './core.ts';

/** The way of one request: journal, access, faults, handler, answer. */
export interface Pipeline {
  run(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** A request that fits no route, or none of this method. */
  refuse(error: ApiError, request: FastifyRequest, reply: FastifyReply): void;
  /** Ends the waits of `latency`. */
  close(): void;
}

export function createPipeline(core: Core, journal: Journal): Pipeline {
  const { world, clock, faults } = core;
  const limiter = createRateLimiter(world.now);
  const waits = createWaits(clock);

  function open(route: string, request: FastifyRequest, reply: FastifyReply): OpenEntry {
    const [path = '', rawQuery = ''] = request.url.split('?');
    const entry = journal.open({
      atMs: world.now(),
      method: request.method,
      route,
      path,
      query: Object.fromEntries(new URLSearchParams(rawQuery)),
      body: bodyIn(request) ?? null,
    });
    reply.raw.once('close', () => {
      if (entry.fate === 'open') close(entry, 'clientGone');
      entry.doneAtMs ??= world.now();
    });
    return entry;
  }
  function close(entry: OpenEntry, fate: Fate) {
    entry.fate = fate;
    if (fate !== 'hung') entry.doneAtMs = world.now();
  }
  const mark = (entry: OpenEntry, ids: readonly string[]) => {
    entry.faults = [...entry.faults, ...ids];
  };

  /** What comes before anything is done; undefined lets the request pass. */
  async function before(entry: OpenEntry, subject: Subject): Promise<Outcome | undefined> {
    const refusals: Verdict[] = [];
    faults.strike(['rateLimit'], subject, undefined, ({ id, effect }) => {
      const verdict = limiter.count(id, core.token, effect);
      if (verdict.refused) refusals.push(verdict);
      return verdict.refused;
    });
    const [refusal] = refusals;
    if (refusal) {
      mark(entry, [refusal.id]);
      const { 'retry-after': retryAfter } = refusal.headers;
      const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
      return { status: 429, headers, body: errorBody(429, 'Too Many Requests'), isInjected: true };
    }
    for (const { id, effect } of faults.strike(['latency'], subject)) {
      mark(entry, [id]);
      await waits.wait(effect.ms);
    }
    const hit = faults.strikeOne(['drop', 'hang', 'status'], subject, comesBefore);
    if (!hit) return undefined;
    mark(entry, [hit.id]);
    return spoil(hit.effect, { status: 200 }, errorBody);
  }

  function after(entry: OpenEntry, subject: Subject, answer: Outcome): Outcome {
    const types = ['drop', 'hang', 'status', 'garbage'] as const;
    const hit = faults.strikeOne(types, subject, (effect) => !comesBefore(effect));
    if (!hit) return answer;
    mark(entry, [hit.id]);
    return spoil(hit.effect, answer, errorBody);
  }

  async function act(route: Route, { entry, subject, request }: Occasion): Promise<Outcome> {
    const isList = route.method === 'GET' && !route.path.endsWith('}');
    const writes = route.kind !== undefined && ['POST', 'PUT'].includes(route.method);
    const lags = isList ? faults.strike(['lag'], subject) : [];
    const dooms = writes ? faults.strike(['twin', 'neverDeploys', 'deploymentError'], subject) : [];
    mark(
      entry,
      [...lags, ...dooms].map(({ id }) => id),
    );
    const fails = dooms.map(({ effect }) => effect).filter((one) => one.type === 'deploymentError');
    const call: Call = {
      params: request.params as Record<string, string>,
      query: new Map(Object.entries(entry.query)),
      rawQuery: request.url.split('?')[1] ?? '',
      body: requireBody(request),
      listsAtMs: world.now() - Math.max(0, ...lags.map(({ effect }) => effect.lagMs)),
      doom: {
        twin: dooms.some(({ effect }) => effect.type === 'twin'),
        neverDeploys: dooms.some(({ effect }) => effect.type === 'neverDeploys'),
        failures: Math.max(0, ...fails.map(({ deployments = 1 }) => deployments)),
      },
      complain: (text) => void core.complaints.push({ seq: entry.seq, text }),
    };
    const answer = await route.handle(call);
    entry.executed = true;
    return after(entry, subject, answer);
  }

  async function serve(route: Route, occasion: Occasion): Promise<Outcome> {
    const { entry, subject, request } = occasion;
    checkAccess(core, request);
    checkTypes(request);
    return (await before(entry, subject)) ?? act(route, occasion);
  }

  function refusalOf(error: unknown): Outcome {
    if (error instanceof ApiError) {
      const { status, message, validation } = error;
      return { status, body: errorBody(status, message, validation) };
    }
    core.log.error({ err: error }, 'a request failed');
    return { status: 500, body: errorBody(500, 'Internal Server Error') };
  }

  function finish(
    entry: OpenEntry,
    outcome: Outcome,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    if (outcome.fate === undefined) entry.status = outcome.status;
    if (entry.fate === 'open') close(entry, outcome.fate ?? 'replied');
    const usual = { 'x-request-id': `fake-${entry.seq}`, date: httpDate(world.now()) };
    sendOutcome(outcome, request, reply, usual);
  }

  return {
    async run(route, request, reply) {
      const entry = open(route.path, request, reply);
      const subject = subjectOf(core, route, entry, request);
      const outcome = await serve(route, { entry, subject, request }).catch(refusalOf);
      finish(entry, outcome, request, reply);
    },
    refuse(error, request, reply) {
      const entry = open(request.url.split('?')[0] ?? '', request, reply);
      finish(entry, refusalOf(error), request, reply);
    },
    close: waits.close,
  };
}

interface Occasion {
  readonly entry: OpenEntry;
  readonly subject: Subject;
  readonly request: FastifyRequest;
}

function subjectOf(
  { world }: Core,
  { method, path, kind }: Route,
  { body, query }: OpenEntry,
  request: FastifyRequest,
): Subject {
  const { id } = request.params as { id?: string };
  const thing = id === undefined ? undefined : world.things.get(id);
  const told = body !== null && typeof body === 'object' && 'name' in body ? body.name : undefined;
  return {
    method,
    route: path,
    kind: kind ?? (thing?.kind === 'loadbalancer' ? undefined : (thing?.kind ?? undefined)),
    name: thing?.name ?? (typeof told === 'string' ? told : undefined),
    id,
    page: query['page'] === undefined ? undefined : Number(query['page']),
  };
}

/** @throws {ApiError} 401 without a token, 403 with another one. */
function checkAccess({ token }: Core, { headers: { authorization } }: FastifyRequest): void {
  const shown = /^Token (\S+)$/.exec(authorization ?? '')?.[1];
  if (shown === undefined) throw new ApiError(401, 'Authorization: Token … is missing');
  if (!isSameSecret(shown, token)) throw new ApiError(403, 'Permission denied');
}

/** @throws {ApiError} 406, 415. */
function checkTypes({ method, headers }: FastifyRequest): void {
  if (!headers['user-agent']) throw new ApiError(400, 'User-Agent is missing');
  const [wanted, sent] = [headers.accept ?? '', headers['content-type'] ?? ''];
  if (method === 'GET' && !/application\/json|\*\/\*/.test(wanted)) {
    throw new ApiError(406, 'Accept must be application/json');
  }
  if (method !== 'GET' && !/^application\/json\s*(;|$)/.test(sent)) {
    throw new ApiError(415, 'Content-Type must be application/json');
  }
}

function bodyIn({ body }: FastifyRequest): unknown {
  if (typeof body !== 'string' || body.trim() === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return '(not JSON)';
  }
}

/** @throws {ApiError} 400 for text that is not JSON, and for a body where there is none. */
function requireBody(request: FastifyRequest): unknown {
  const { body, method } = request;
  const isEmpty = typeof body !== 'string' || body.trim() === '';
  if (isEmpty && ['POST', 'PUT'].includes(method)) throw new ApiError(400, 'The body is missing');
  if (isEmpty) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    throw new ApiError(400, 'The body is not JSON');
  }
}
