import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fate, Journal, OpenEntry } from '../../kit/journal.ts';
import { httpDate, type Outcome, sendOutcome } from '../../kit/outcome.ts';
import { isSameSecret } from '../../kit/same-secret.ts';
import { comesBefore, createWaits, spoil } from '../../kit/wire-faults.ts';
import { ApiError, errorBody, refusal } from '../api/api-error.ts';
import type { Call, Core, Route } from '../core.ts';
import type { EffectOf, EffectType, Subject } from '../fault-rules.ts';
import type { Team } from '../state/world.ts';
import { createLimiter } from './limits.ts';
import { hostnameIn, maskedBody, parsed } from './request.ts';

/** The way of one request: journal, key, limits, faults, handler, answer. */
export interface Pipeline {
  run(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** A request that fits no route, or none of this method. */
  refuse(error: ApiError, request: FastifyRequest, reply: FastifyReply): void;
  /** Ends the waits of `latency`. */
  close(): void;
}

interface Occasion {
  readonly entry: OpenEntry;
  readonly subject: Subject;
  readonly request: FastifyRequest;
}

export const DOCUMENT_TYPE = 'application/vnd.api+json; charset=utf-8';

export function createPipeline(core: Core, journal: Journal): Pipeline {
  const { world, clock, faults, knobs } = core;
  const limiter = createLimiter(core.limits, clock.now);
  const waits = createWaits(clock);

  function open(route: string, request: FastifyRequest, reply: FastifyReply): OpenEntry {
    const [path = '', rawQuery = ''] = request.url.split('?');
    const entry = journal.open({
      atMs: clock.now(),
      method: request.method,
      route,
      path,
      query: Object.fromEntries(new URLSearchParams(rawQuery)),
      body: maskedBody(request),
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
  function strikeOn<T extends EffectType>(
    { entry }: Occasion,
    type: T,
    subject: Subject,
    fits?: (effect: EffectOf<T>) => boolean,
  ) {
    const hit = faults.strikeOne([type], subject, fits);
    if (hit) entry.faults = [...entry.faults, hit.id];
    return hit?.effect;
  }

  /** Whose key it is. @throws {ApiError} 401, 403. */
  function teamOf(occasion: Occasion): Team & { readonly token: string } {
    const { authorization = '' } = occasion.request.headers;
    // Latitude.sh's own SDKs send the key alone: their description has `apiKey` in this header.
    const shown = /^(?:Bearer )?(\S+)$/.exec(authorization)?.[1] ?? '';
    const key = world.keys.find(({ token }) => isSameSecret(token, shown));
    if (!key) throw refusal(401, 'unauthorized', 'Invalid or missing API key');
    const isSpared = ({ id }: { id: string }) => key.spares.includes(id);
    const types = ['tokenRevoked'] as const;
    const { entry, subject } = occasion;
    const [revoked] = faults.strike(types, subject, undefined, (hit) => !isSpared(hit));
    if (revoked) entry.faults = [...entry.faults, revoked.id];
    if (revoked?.effect.code === 403)
      throw refusal(403, 'forbidden', 'The API key may not do this');
    if (revoked) throw refusal(401, 'unauthorized', 'Invalid or missing API key');
    return { ...world.teams.find(({ id }) => id === key.teamId)!, token: key.token };
  }

  /** @throws {ApiError} 429. */
  function limit(occasion: Occasion, token: string): void {
    const told = strikeOn(occasion, 'rateLimit', occasion.subject);
    if (told) throw tooMany(told.retryAfterS, told.header === true);
    const kind = occasion.request.method === 'GET' ? 'read' : 'write';
    const waitMs = limiter.waitMs(token, kind);
    if (waitMs !== undefined) throw tooMany(Math.max(1, Math.ceil(waitMs / 1_000)), false);
  }

  /** What comes before anything is done; undefined lets the request pass. */
  async function before({ entry, subject }: Occasion): Promise<Outcome | undefined> {
    for (const { id, effect } of faults.strike(['latency'], subject)) {
      entry.faults = [...entry.faults, id];
      await waits.wait(effect.ms);
    }
    const hit = faults.strikeOne(['drop', 'hang', 'status'], subject, comesBefore);
    if (!hit) return undefined;
    entry.faults = [...entry.faults, hit.id];
    return spoil(hit.effect, { status: 200 }, injectedBody);
  }

  function after({ entry, subject }: Occasion, answer: Outcome): Outcome {
    const types = ['drop', 'hang', 'status', 'garbage'] as const;
    const hit = faults.strikeOne(types, subject, (effect) => !comesBefore(effect));
    if (!hit) return answer;
    entry.faults = [...entry.faults, hit.id];
    return spoil(hit.effect, answer, injectedBody);
  }

  async function act(route: Route, occasion: Occasion, team: Team): Promise<Outcome> {
    const { entry, subject, request } = occasion;
    const isList = route.method === 'GET' && !route.path.includes('{id}');
    const lag = isList ? strikeOn(occasion, 'listLag', subject) : undefined;
    const call: Call = {
      seq: entry.seq,
      params: request.params as Record<string, string>,
      query: new Map(Object.entries(entry.query)),
      body: parsed(request),
      team,
      listsAtMs: clock.now() - Math.max(knobs.listLagMs, lag?.ms ?? 0),
      subject,
      strike: (type, fits) => strikeOn(occasion, type, subject, fits),
      strikeAt: ({ id, hostname, projectId: project }, type) =>
        strikeOn(occasion, type, { ...subject, server: id, hostname, project }),
    };
    const answer = await route.handle(call);
    entry.executed = true;
    return after(occasion, answer);
  }

  async function serve(route: Route, occasion: Occasion): Promise<Outcome> {
    const team = teamOf(occasion);
    limit(occasion, team.token);
    return (await before(occasion)) ?? act(route, occasion, team);
  }

  function refusalOf(error: unknown): Outcome {
    if (error instanceof ApiError) {
      const { status, headers, problems } = error;
      return { status, headers, body: errorBody(status, problems) };
    }
    core.log.error({ err: error }, 'a request failed');
    return { status: 500, body: injectedBody(500, 'Internal Server Error') };
  }

  function finish(
    entry: OpenEntry,
    outcome: Outcome,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    if (outcome.fate === undefined) entry.status = outcome.status;
    if (entry.fate === 'open') end(entry, outcome.fate ?? 'replied');
    const usual = { 'x-request-id': `fake-${entry.seq}`, date: httpDate(clock.now()) };
    const isDocument = outcome.body !== undefined && typeof outcome.body !== 'string';
    const type = isDocument ? { 'content-type': DOCUMENT_TYPE } : {};
    sendOutcome({ ...outcome, headers: { ...type, ...outcome.headers } }, request, reply, usual);
  }

  const subjectOf = (route: Route, entry: OpenEntry, request: FastifyRequest): Subject => {
    const { id } = request.params as { id?: string };
    const server = id === undefined ? undefined : world.servers.get(id);
    const asked = hostnameIn(request);
    return {
      method: route.method,
      route: route.path,
      server: server?.id,
      hostname: server?.hostname ?? asked.hostname ?? entry.query['filter[hostname]'],
      project: server?.projectId ?? asked.project ?? entry.query['filter[project]'],
      page: Number(entry.query['page[number]'] ?? 1),
    };
  };

  return {
    async run(route, request, reply) {
      const entry = open(route.path, request, reply);
      const subject = subjectOf(route, entry, request);
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

const injectedBody = (status: number, detail: string): object =>
  errorBody(status, [{ code: 'INTERNAL_SERVER_ERROR', detail }]);

function tooMany(retryAfterS: number | null, hasHeader: boolean): ApiError {
  const isTold = retryAfterS !== null;
  const headers = isTold && hasHeader ? { 'retry-after': String(retryAfterS) } : {};
  const problem = {
    code: 'RATE_LIMIT_EXCEEDED',
    title: 'Rate limit exceeded',
    detail: 'Too many requests for this API key',
    meta: isTold && !hasHeader ? { retry_after: retryAfterS } : {},
  };
  return new ApiError(429, [problem], headers);
}
