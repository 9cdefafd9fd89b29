import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { createHostCheck } from '../../src/lib/network.ts';
import type { Activity } from './activity.ts';
import type { EmulatorClock } from './clock.ts';
import type { FaultRules } from './fault-rules.ts';
import type { CommonEffect, CommonMatch, RuleSubject } from './faults.ts';
import { type Fate, type Journal, maskSecrets, type OpenEntry } from './journal.ts';
import type { EmulatorLog } from './log.ts';
import { httpDate, type HttpResult, sendOutcome } from './outcome.ts';
import type { Generator } from './random.ts';
import { comesBefore, createRateLimiter, latencyOf, spoil, type RateLimitVerdict } from './wire.ts';

const BODY_MAX_BYTES = 1024 * 1024;
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

/** A handler's answer. */
export interface ApiAnswer {
  readonly status: number;
  /** Text is sent unchanged, everything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One method of one path. */
export interface Route<Call> {
  /** `*`: every method; the handler decides. */
  readonly method: (typeof METHODS)[number] | '*';
  /** Path below the API's base, with placeholders in braces. */
  readonly path: string;
  readonly handle: (call: Call) => ApiAnswer | Promise<ApiAnswer>;
}

/** A refusal that the client sees. */
export class ApiRefusal extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    super(`answered with ${status}`);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

type TypedEffect<Effect, T> = Extract<Effect, { type: T }>;

/** One request as hooks and handlers see it. */
export interface Occasion<Effect extends { readonly type: string }> {
  readonly method: string;
  /** As received, below the API's base. */
  readonly path: string;
  /** The matching route's path; otherwise as `path`. */
  readonly route: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: ReadonlyMap<string, string>;
  /** As received, without the question mark. */
  readonly rawQuery: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as received; may be empty. */
  readonly text: string;
  /** Its journal entry. */
  readonly entry: OpenEntry;
  readonly raw: IncomingMessage;
  /** The input of fault rules. */
  readonly subject: RuleSubject;
  /** Waits on the emulator's clock. Rejects when the emulator ends. */
  wait(delayMs: number): Promise<void>;
  /** The first fault of this type that `fits` accepts and that strikes the request or subject. */
  strike<T extends Effect['type']>(
    type: T,
    fits?: (effect: TypedEffect<Effect, T>) => boolean,
    subject?: RuleSubject,
  ): TypedEffect<Effect, T> | undefined;
  /** All faults of these types that strike it. */
  strikeAll<T extends Effect['type']>(
    types: readonly T[],
    fits?: (effect: TypedEffect<Effect, T>) => boolean,
  ): TypedEffect<Effect, T>[];
}

/** An emulated API: its routes and its request handling. */
export interface EmulatedApi<Call, Effect extends { readonly type: string }> {
  /** Its name for people, for the start of a sentence. */
  readonly name: string;
  /** Path in front of all routes, such as `/metal/v1`. */
  readonly base?: string;
  readonly routes: readonly Route<Call>[];
  /** Refuses unknown host names, unless the API shares its listener. */
  readonly host?: string;
  /** Additional request fields for rules, besides method and route. */
  subject?(occasion: Omit<Occasion<Effect>, 'subject'>): Readonly<Record<string, unknown>>;
  /** A copy of a request's body without secrets, for the journal. */
  masked?(body: unknown, text: string): unknown;
  /** Additional fields of the journal entry. */
  noted?(request: Pick<Occasion<Effect>, 'headers' | 'raw'>): object;
  /** Called first, even before faults: an answer, or nothing. */
  arrive?(occasion: Occasion<Effect>): HttpResult | undefined | Promise<HttpResult | undefined>;
  /** Logins and limits. @throws {ApiRefusal} */
  admit?(occasion: Occasion<Effect>): void | Promise<void>;
  /** The handlers' input. @throws {ApiRefusal} */
  call(occasion: Occasion<Effect>): Call;
  /** Sends `X-RateLimit-…` headers for a `rateLimit` rule. Default: only `Retry-After`. */
  readonly tellsRate?: boolean;
  /** Requests with equal logins share a `rateLimit` rule's count. Default: all requests. */
  login?(occasion: Occasion<Effect>): string;
  /** An error in the API's own form. */
  errorBody(status: number, message: string): unknown;
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called after each request, except when the emulator's end interrupts it. */
  told?(occasion: Occasion<Effect>, outcome: HttpResult): void;
}

/** What request handling needs from the emulator. */
export interface ApiDeps<Match extends CommonMatch, Effect extends { readonly type: string }> {
  readonly clock: EmulatorClock;
  readonly chance: Pick<Generator, 'next'>;
  readonly faults: FaultRules<Match, Effect, RuleSubject>;
  readonly journal: Journal;
  /** Running requests that do not wait for time. */
  readonly requests: Activity;
  readonly log: EmulatorLog;
}

/** The API's HTTP server, not yet listening. Closing it ends every connection at once. */
export function createApi<
  Call,
  Match extends CommonMatch,
  Effect extends { readonly type: string },
>(
  api: EmulatedApi<Call, CommonEffect | Effect>,
  deps: ApiDeps<Match, CommonEffect | Effect>,
): FastifyInstance {
  const { clock, log } = deps;
  const way = createWay(api, deps);
  const usualHeaders = ({ id }: { readonly id: string }) => ({
    'x-request-id': id,
    date: httpDate(clock.now()),
  });
  const app = fastify({
    bodyLimit: BODY_MAX_BYTES,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    frameworkErrors: (error, request, reply) => {
      const status = error.statusCode ?? 400;
      const body = api.errorBody(status, error.message);
      sendOutcome({ status, body, ...withHeaders(api) }, request, reply, usualHeaders(request));
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  const { host, name, base = '' } = api;
  if (host !== undefined) {
    const isOwnName = createHostCheck([host]);
    const wrongName = `${name} does not answer under this name: use localhost or its address`;
    app.addHook('onRequest', async ({ headers }) => {
      if (!isOwnName(headers.host)) throw new ApiRefusal(421, api.errorBody(421, wrongName));
    });
  }
  // Refusals before routing and journal: a host name, or a too large body.
  app.setErrorHandler((error, request, reply) => {
    const { status, body } = refusalOf(api, error, log);
    sendOutcome({ status, body, ...withHeaders(api) }, request, reply, usualHeaders(request));
  });
  app.setNotFoundHandler((request, reply) => way.run(undefined, request, reply));
  for (const path of new Set(api.routes.map((route) => route.path))) {
    const url = `${base}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    const here = api.routes.filter((route) => route.path === path);
    const routeOf = (method: string) =>
      here.find((route) => route.method === method || route.method === '*');
    app.route({
      method: [...METHODS],
      url,
      handler: (request, reply) =>
        way.run({ path, handle: routeOf(request.method)?.handle }, request, reply),
    });
  }
  app.addHook('onClose', async () => way.close());
  return app;
}

const withHeaders = ({ headers }: { readonly headers?: Readonly<Record<string, string>> }) =>
  headers && { headers };

function refusalOf(
  api: Pick<EmulatedApi<never, never>, 'errorBody'>,
  error: unknown,
  log: EmulatorLog,
): HttpResult {
  if (error instanceof ApiRefusal) {
    return { status: error.status, headers: error.headers, body: error.body };
  }
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  if (status >= 400 && status < 500) {
    return { status, body: api.errorBody(status, (error as Error).message) };
  }
  log.error({ err: error }, 'a request failed');
  return { status: 500, body: api.errorBody(500, 'Internal error') };
}

interface Found<Call> {
  readonly path: string;
  /** Absent: the path lacks this method. */
  readonly handle: Route<Call>['handle'] | undefined;
}

/** The stages of one request: journal, faults, login, limits, handler, answer. */
function createWay<Call, Match extends CommonMatch, Effect extends { readonly type: string }>(
  api: EmulatedApi<Call, CommonEffect | Effect>,
  { clock, chance, journal, requests, log, ...deps }: ApiDeps<Match, CommonEffect | Effect>,
) {
  type Any = CommonEffect | Effect;
  /** The effects that all emulators share. */
  const faults = deps.faults as unknown as FaultRules<CommonMatch, CommonEffect, RuleSubject>;
  const limiter = createRateLimiter(clock.now);
  const closing = new AbortController();
  const mark = (entry: OpenEntry, ...ids: readonly string[]) => {
    entry.faults = [...entry.faults, ...ids];
  };
  /** A hung request stays open until its client leaves. */
  const end = (entry: OpenEntry, fate: Fate) => {
    entry.fate = fate;
    if (fate !== 'hung') entry.doneAtMs = clock.now();
  };

  function open(found: Found<Call> | undefined, request: FastifyRequest, reply: FastifyReply) {
    const [wholePath = '', ...more] = request.url.split('?');
    const rawQuery = more.join('?');
    const { base = '' } = api;
    const path = wholePath.startsWith(base) ? wholePath.slice(base.length) : wholePath;
    const text = typeof request.body === 'string' ? request.body : '';
    const query = new URLSearchParams(rawQuery);
    const known = {
      method: request.method,
      path,
      route: found?.path ?? path,
      params: request.params as Readonly<Record<string, string>>,
      query: new Map(query),
      rawQuery,
      headers: request.headers,
      text,
      raw: request.raw,
    };
    type Fits = (effect: CommonEffect) => boolean;
    const strikers = {
      strike(type: CommonEffect['type'], fits?: Fits, subject?: RuleSubject) {
        const hit = faults.strikeOne([type], subject ?? occasion.subject, fits);
        if (hit) mark(entry, hit.id);
        return hit?.effect;
      },
      strikeAll(types: readonly CommonEffect['type'][], fits?: Fits) {
        const hits = faults.strike(types, occasion.subject, fits);
        mark(entry, ...hits.map(({ id }) => id));
        return hits.map(({ effect }) => effect);
      },
    } as unknown as Pick<Occasion<Any>, 'strike' | 'strikeAll'>;
    const entry = journal.open({
      atMs: clock.now(),
      method: known.method,
      route: known.route,
      path,
      query: maskSecrets(Object.fromEntries(query)),
      body: (api.masked ?? maskSecrets)(jsonOrText(text), text),
      ...api.noted?.(known),
    });
    const wait = (delayMs: number) => requests.wait(clock, delayMs, closing.signal);
    const unseen = { ...known, ...strikers, entry, wait };
    const { method, route } = known;
    const occasion: Occasion<Any> = {
      ...unseen,
      subject: { method, route, ...api.subject?.(unseen) },
    };
    reply.raw.once('close', () => {
      if (entry.fate === 'open') end(entry, 'clientGone');
      entry.doneAtMs ??= clock.now();
    });
    return occasion;
  }

  /** The stages before any effect; no result lets the request pass. */
  async function before(occasion: Occasion<Any>): Promise<HttpResult | undefined> {
    const { entry, subject } = occasion;
    for (const hit of faults.strike(['latency'], subject)) {
      mark(entry, hit.id);
      await occasion.wait(latencyOf(hit.effect, chance.next()));
    }
    const hit = faults.strikeOne(['drop', 'hang', 'status'], subject, comesBefore);
    if (!hit) return undefined;
    mark(entry, hit.id);
    return spoil(hit.effect, { status: 200 }, api.errorBody);
  }

  /** Counts for every `rateLimit` rule; the answer's headers give the rest. */
  function limit(occasion: Occasion<Any>) {
    const verdicts: RateLimitVerdict[] = [];
    const login = api.login?.(occasion) ?? '';
    faults.strike(['rateLimit'], occasion.subject, undefined, ({ id, effect }) => {
      const verdict = limiter.count(id, login, effect, api.tellsRate);
      verdicts.push(verdict);
      return verdict.refused;
    });
    const refused = verdicts.filter((one) => one.refused);
    mark(occasion.entry, ...refused.map(({ id }) => id));
    const headers: Record<string, string> = Object.assign(
      {},
      ...[...verdicts, ...refused].map((one) => one.headers),
    );
    return { isRefused: refused.length > 0, headers };
  }

  async function act(found: Found<Call> | undefined, occasion: Occasion<Any>): Promise<HttpResult> {
    await api.admit?.(occasion);
    const { isRefused, headers } = limit(occasion);
    if (isRefused) {
      const body = api.errorBody(429, 'Too many requests');
      return { status: 429, headers, body, isInjected: true };
    }
    if (!found) throw new ApiRefusal(404, api.errorBody(404, 'Not found'));
    if (!found.handle) throw new ApiRefusal(405, api.errorBody(405, 'Method not allowed'));
    const answer = await found.handle(api.call(occasion));
    occasion.entry.executed = true;
    return { ...answer, headers: { ...headers, ...answer.headers } };
  }

  /** A refusal may also be lost or spoiled. */
  function after({ entry, subject }: Occasion<Any>, answer: HttpResult): HttpResult {
    const added = faults.strike(['headers'], subject);
    const types = ['drop', 'hang', 'status', 'garbage'] as const;
    const hit = faults.strikeOne(types, subject, (effect) => !comesBefore(effect));
    mark(entry, ...added.map(({ id }) => id), ...(hit ? [hit.id] : []));
    const headers = Object.assign({}, answer.headers, ...added.map((one) => one.effect.headers));
    const genuine = { ...answer, headers };
    return hit ? spoil(hit.effect, genuine, api.errorBody) : genuine;
  }

  async function serve(
    found: Found<Call> | undefined,
    occasion: Occasion<Any>,
  ): Promise<HttpResult> {
    const early = (await api.arrive?.(occasion)) ?? (await before(occasion));
    if (early) return early;
    return after(occasion, await act(found, occasion).catch(broken));
  }

  const broken = (error: unknown): HttpResult =>
    closing.signal.aborted ? { status: 0, fate: 'dropped' } : refusalOf(api, error, log);

  return {
    run(found: Found<Call> | undefined, request: FastifyRequest, reply: FastifyReply) {
      const occasion = open(found, request, reply);
      const { entry } = occasion;
      requests.run(async () => {
        const outcome = await serve(found, occasion).catch(broken);
        if (!closing.signal.aborted) api.told?.(occasion, outcome);
        if (outcome.fate === undefined) entry.status = outcome.status;
        if (entry.fate === 'open') end(entry, outcome.fate ?? 'replied');
        const usual = { 'x-request-id': `fake-${entry.seq}`, date: httpDate(clock.now()) };
        const headers = { ...api.headers, ...outcome.headers };
        sendOutcome({ ...outcome, headers }, request, reply, usual);
      });
    },
    /** Ends everything that waits for time. */
    close: () => closing.abort(),
  };
}

function jsonOrText(text: string): unknown {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return '(not JSON)';
  }
}

/**
 * A request's body as JSON; undefined for an empty body.
 * @param types accepted content types. @throws {ApiRefusal} 400, 415.
 */
export function jsonOf(
  { text, headers }: Pick<Occasion<never>, 'text' | 'headers'>,
  errorBody: EmulatedApi<never, never>['errorBody'],
  types = /^application\/json\s*(;|$)/,
): unknown {
  if (text.trim() === '') return undefined;
  if (!types.test(headers['content-type'] ?? '')) {
    throw new ApiRefusal(415, errorBody(415, 'The content type must be application/json'));
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiRefusal(400, errorBody(400, 'The body is not JSON'));
  }
}
