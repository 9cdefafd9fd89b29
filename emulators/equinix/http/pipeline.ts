import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Api } from '../api/api.ts';
import type { Answer, Route } from '../api/call.ts';
import type { EmulatorClock } from '../../kit/clock.ts';
import type { Faults, FaultSubject } from '../faults/faults.ts';
import type { Fate, Journal, OpenEntry } from '../../kit/journal.ts';
import type { Token } from '../state/state.ts';
import { authenticate } from '../api/access.ts';
import { ApiError, errorBody, forbidden } from '../api/api-error.ts';
import { createFaultPoints, type Hit } from '../faults/fault-points.ts';
import { exchanges, type Exchange } from '../exchanges.ts';
import { maskSecrets } from '../../kit/journal.ts';
import { httpDate, sendOutcome, textOf, type Outcome } from '../../kit/outcome.ts';
import { inputOf, paramsOf, pathOf, queryOf, readableBody, tokenOf } from './request.ts';

/** The way of one request: journal, access, faults, handler, state file, answer. */
export interface Pipeline {
  run(route: Route, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** A request that fits no route, or none of this method. */
  refuse(error: ApiError, request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /** Ends the waits of `latency`. */
  close(): void;
}

export interface PipelineDeps {
  readonly api: Api;
  readonly faults: Faults;
  readonly journal: Journal;
  readonly clock: EmulatorClock;
  readonly basePath: string;
  readonly forcedStates: ReadonlySet<string>;
  /** Resolves when the state is stored. */
  readonly save: () => Promise<void>;
}

export function createPipeline(deps: PipelineDeps): Pipeline {
  const { api, journal, basePath, save } = deps;
  const { core } = api;
  const faults = createFaultPoints(api, deps.faults, deps.clock);

  /** A hung request is in the air until its client leaves. */
  const close = (entry: OpenEntry, fate: Fate) => {
    entry.fate = fate;
    if (fate !== 'hung') entry.doneAtMs = core.now();
  };
  const open = (route: string, request: FastifyRequest, reply: FastifyReply): OpenEntry => {
    const entry = journal.open({
      atMs: core.now(),
      method: request.method,
      route,
      path: pathOf(request, basePath),
      query: maskSecrets(Object.fromEntries(queryOf(request))),
      body: maskSecrets(readableBody(request)),
    });
    reply.raw.once('close', () => {
      if (entry.fate === 'open') close(entry, 'clientGone');
      entry.doneAtMs ??= core.now();
    });
    return entry;
  };

  const execute = (route: Route, hit: Hit, request: FastifyRequest, caller: Token): Answer => {
    const changes = route.method !== 'GET' && !route.reads;
    if (caller.readOnly && changes) throw forbidden('change anything');
    if (isDeviceRead(route) && faults.hidesDevice(hit)) throw forbidden('view this device');
    const answer = route.handle({
      path: hit.entry.path,
      params: paramsOf(request),
      query: queryOf(request),
      body: route.method === 'GET' ? {} : inputOf(request),
      caller,
      disturbance: faults.disturbance(hit),
    });
    hit.entry.executed = true;
    return answer;
  };

  const act = async (
    route: Route,
    hit: Hit,
    request: FastifyRequest,
    caller: Token,
  ): Promise<Outcome> => {
    if (isReservationRead(route)) faults.race(hit, 'beforeCheck');
    if (isDeviceCreate(route)) faults.race(hit, 'betweenCheckAndCreate');
    const answer = execute(route, hit, request, caller);
    if (route.method !== 'GET') await save();
    return faults.after(hit, answer);
  };

  const serve = async (
    route: Route,
    entry: OpenEntry,
    request: FastifyRequest,
  ): Promise<Outcome> => {
    const hit: Hit = { entry, subject: subjectOf(route, request) };
    faults.revoke(hit);
    const caller = authenticate(core.state, hit.subject.token);
    const { refused, headers } = faults.limit(hit, caller.value);
    if (refused) return { ...TOO_MANY, headers };
    const outcome =
      (await faults.before(hit)) ??
      (await act(route, hit, request, caller).catch((error: unknown) => refusal(error)));
    if (outcome.fate !== undefined && isDeviceCreate(route)) faults.race(hit, 'afterLostReply');
    return { ...outcome, headers: { ...headers, ...outcome.headers } };
  };

  const refusal = (error: unknown): Outcome => {
    if (error instanceof ApiError) return { status: error.status, body: errorBody(error) };
    core.log.error({ err: error }, 'a request failed');
    return { status: 500, body: { errors: ['Internal error'] } };
  };

  const publish = (
    route: Route | null,
    { path, query }: OpenEntry,
    outcome: Outcome,
    request: FastifyRequest,
  ) => {
    if (!exchanges.hasSubscribers) return;
    const exchange: Exchange = {
      method: request.method,
      route: route?.path ?? null,
      path,
      query,
      body: readableBody(request),
      userAgent: request.headers['user-agent'] ?? '',
      status: outcome.status,
      reply: textOf(outcome.body),
      isInjected: outcome.isInjected === true,
      forcedStates: deps.forcedStates,
    };
    exchanges.publish(exchange);
  };

  const finish = (
    entry: OpenEntry,
    outcome: Outcome,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    if (outcome.fate === undefined) entry.status = outcome.status;
    if (entry.fate === 'open') close(entry, outcome.fate ?? 'replied');
    sendOutcome(outcome, request, reply, {
      'x-request-id': `fake-${entry.seq}`,
      date: httpDate(core.now()),
    });
  };

  return {
    run: async (route, request, reply) => {
      const entry = open(route.path, request, reply);
      const outcome = await serve(route, entry, request).catch(refusal);
      publish(route, entry, outcome, request);
      finish(entry, outcome, request, reply);
    },
    refuse: async (error, request, reply) => {
      const entry = open(pathOf(request, basePath), request, reply);
      const outcome = refusal(error);
      publish(null, entry, outcome, request);
      finish(entry, outcome, request, reply);
    },
    close: faults.close,
  };
}

const TOO_MANY = { status: 429, body: { errors: ['Too many requests'] }, isInjected: true };

const isDeviceCreate = ({ method, path }: Route) =>
  method === 'POST' && path === '/projects/{id}/devices';
const isDeviceRead = ({ method, path }: Route) => method === 'GET' && path === '/devices/{id}';
const isReservationRead = ({ method, path }: Route) =>
  method === 'GET' && path === '/hardware-reservations/{id}';

function subjectOf(route: Route, request: FastifyRequest): FaultSubject {
  const { id } = paramsOf(request);
  const ofReservation = route.path.startsWith('/hardware-reservations/');
  return {
    method: route.method,
    route: route.path,
    token: tokenOf(request),
    deviceId: route.path.startsWith('/devices/') ? id : undefined,
    reservationId: ofReservation ? id : reservationIn(readableBody(request)),
  };
}

/** The reservation that a create names. */
function reservationIn(body: unknown): string | undefined {
  const named = typeof body === 'object' && body !== null && 'hardware_reservation_id' in body;
  const value = named ? body.hardware_reservation_id : undefined;
  return typeof value === 'string' && value !== '' ? value : undefined;
}
