import * as leaf from '../../../settings/leaves.ts';
import {
  UsageError,
  Cancelled,
  RemoteFailure,
  Denied,
  type FleetError,
  isProviderError,
  Malformed,
  type ProviderErrorKind,
  Throttled,
  Unreachable,
} from '../../../domain/errors.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';
import type { BalancerDriver, BalancerContext, LoadBalancer } from '../port.ts';
import { createThrottles, createEngine, addTag, ownerIn, tagOf, type Throttle } from './engine.ts';
import { z } from 'zod';
import type { Surroundings } from '../../../settings/secret.ts';
import type { PoolRef, Ref } from '../../../domain/balancing/objects.ts';
import type { ApiTimings } from '../../driver-kit/terms.ts';
import { createEngineApi } from './api.ts';
import { create } from './creation.ts';
import { bodyOf, phaseOf, createReadings } from './forms.ts';
import { createMemory } from './memory.ts';
import { observe } from './reader.ts';

const fields = (around: Surroundings) =>
  z.strictObject({
    baseUrl: leaf
      .url('URL of the Engine, without a trailing slash.')
      .prefault('https://engine.anexia-it.com')
      .transform((text) => text.replace(/\/+$/, '')),
    token: leaf.secret('API token.', around).prefault('${ANEXIA_TOKEN}'),
    loadBalancer: leaf.text('Id of the load balancer.', {
      matches: /^[A-Za-z0-9_-]{1,64}$/,
      type: 'an id of letters, digits, hyphens and underscores',
    }),
    pageSize: leaf.count('Entries per page of a listing.', 1, 1000).prefault(100),
    allowInsecureHttp: leaf
      .flag('Allow an http:// address beyond loopback; the token is then sent unencrypted.')
      .prefault(false),
  });

/** Keys of a balancer with driver `anexia`, as in the file. */
export const anexiaSchema = (around: Surroundings) =>
  fields(around).refine(isSecure, {
    when: () => true,
    path: ['baseUrl'],
    error: 'would send the token unencrypted; give an https URL, or set allowInsecureHttp: true',
  });

/** Keys of a balancer with driver `anexia`, as parsed. */
export type AnexiaSettings = z.output<ReturnType<typeof anexiaSchema>>;

function isSecure(balancer: { baseUrl?: unknown; allowInsecureHttp?: unknown }): boolean {
  if (typeof balancer?.baseUrl !== 'string' || balancer.allowInsecureHttp === true) return true;
  return !/^http:/i.test(balancer.baseUrl) || baseUrlFault(balancer.baseUrl, false) === false;
}

/** Balancers of one account pause together after too many requests. */
const throttles = createThrottles();

/** A load balancer of the Anexia Engine. */
export const anexiaDriver: BalancerDriver<AnexiaSettings> = {
  name: 'anexia',
  settings: anexiaSchema,
  open(settings, context) {
    const { baseUrl, token, allowInsecureHttp } = settings;
    const fault = baseUrlFault(baseUrl, allowInsecureHttp);
    if (fault) throw new UsageError(`balancer ${context.name}: baseUrl ${fault}`);
    const throttle = throttles.of(baseUrl, token.reference, context.clock);
    return createAnexiaBalancer(settings, { context, throttle });
  },
  overlaps: (one, other) =>
    one.baseUrl === other.baseUrl && one.loadBalancer === other.loadBalancer
      ? 'loadBalancer'
      : null,
};

export interface AnexiaDeps {
  readonly context: BalancerContext;
  /** Shared by the account. */
  readonly throttle: Throttle;
  /** For tests. */
  readonly timings?: Partial<ApiTimings>;
}

/**
 * One load balancer of the Anexia Engine. The Engine can neither drain nor report sessions or
 * health, so a drain destroys the server. The first call of all checks whether the load balancer
 * exists.
 */
export function createAnexiaBalancer(settings: AnexiaSettings, deps: AnexiaDeps): LoadBalancer {
  const { context, throttle, timings } = deps;
  const { loadBalancer, pageSize, baseUrl } = settings;
  const { name, log, clock } = context;
  const api = createEngineApi({ settings, context, throttle, ...(timings && { timings }) });
  const engine = createEngine({ api, throttle, pageSize });
  const memory = createMemory(clock);
  const readings = createReadings(clock);
  const scene = { name, loadBalancer, engine, memory, readings, log };
  let isKnown = false;
  let isClosed = false;

  async function requireLoadBalancer(signal: AbortSignal): Promise<void> {
    if (isKnown) return;
    if (!(await engine.hasLoadBalancer(loadBalancer, signal))) {
      throw new RemoteFailure(
        `there is no load balancer ${loadBalancer} at ${baseUrl}, or this token has no access to it`,
      );
    }
    isKnown = true;
  }

  /** Wraps every method. */
  async function enter<T>(doing: string, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    const what = `balancer ${name}: ${doing}`;
    if (isClosed) throw new Cancelled(`${what}: the balancer was closed`);
    return toFleetErrors(what, async () => {
      await requireLoadBalancer(signal);
      return act();
    });
  }

  const parentIdOf = (parent: { readonly id: string } | null) => parent?.id ?? null;

  async function adoptOne(id: string, owner: PoolRef, signal: AbortSignal): Promise<void> {
    const told = await engine.getResource(id, signal);
    if (!told) throw new RemoteFailure('it is gone');
    const whose = ownerIn(told.tags ?? [], tagOf(owner));
    if (whose === 'another') throw new RemoteFailure('another owner has tagged it');
    if (whose === 'nobody') await addTag(engine, { id, tag: tagOf(owner) }, signal);
  }

  /** Anything read before or during the change is stale. */
  async function changing(ref: Ref, act: () => Promise<void>): Promise<void> {
    readings.changed(ref);
    try {
      await act();
    } finally {
      readings.changed(ref);
    }
  }

  return {
    capabilities: CAPABILITIES,
    observe: (owner, look) =>
      enter(`cannot read the objects of pool ${owner.pool}`, look.signal, () =>
        observe(scene, owner, look),
      ),
    create: ({ spec }, parent, owner, { signal }) =>
      enter(`cannot create ${spec.kind} ${spec.name}`, signal, () =>
        create(scene, { spec, parentId: parentIdOf(parent), owner }, signal),
      ),
    adopt: ({ kind, id }, owner, { signal }) =>
      enter(`cannot adopt ${kind} ${id}`, signal, () => adoptOne(id, owner, signal)),
    update: (ref, { spec }, parent, _owner, { signal }) =>
      enter(`cannot update ${ref.kind} ${spec.name}`, signal, () => {
        const { kind, id } = ref;
        const body = bodyOf(spec, parentIdOf(parent), loadBalancer);
        return changing(ref, () =>
          engine.put(kind, id, { ...body, identifier: id, state: '0' }, signal),
        );
      }),
    destroy: (ref, _owner, { signal }) =>
      enter(`cannot destroy ${ref.kind} ${ref.id}`, signal, async () => {
        await changing(ref, () => engine.delete(ref.kind, ref.id, signal));
        memory.forget(ref);
      }),
    refresh: (ref, owner, { signal }) =>
      enter(`cannot read ${ref.kind} ${ref.id}`, signal, async () => {
        const since = readings.mark();
        const object = await engine.get(ref.kind, ref.id, signal);
        if (object) readings.keep(owner.uid, object, since);
        return object === null ? 'failed' : phaseOf(object);
      }),
    async close() {
      isClosed = true;
      api.stop();
    },
  };
}

const CAPABILITIES = {
  update: true,
  drain: 'remove',
  sessions: false,
  health: false,
  async: true,
  adopt: true,
  atOnce: 1,
} as const;

type Plain = new (message: string, options?: ErrorOptions) => FleetError;

const ERRORS: Readonly<Partial<Record<ProviderErrorKind, Plain>>> = {
  auth: Denied,
  transient: Unreachable,
  aborted: Cancelled,
  permanent: Malformed,
};

/** Translates a client error into the port's, with the operation; passes all others. */
function toFleetError(error: unknown, doing: string): unknown {
  if (!isProviderError(error)) return error;
  const { kind, rateLimit, outcome, answer: { status } = {} } = error;
  const cause = { cause: error };
  if (rateLimit) {
    const until = rateLimit.retryAt.toISOString();
    const told = `${doing}: the account accepts no requests before ${until}`;
    return new Throttled(told, rateLimit.retryAt.getTime(), cause);
  }
  // Somebody answered the change without refusing it.
  const isVague = kind === 'transient' && outcome === 'unknown' && status !== undefined;
  const Kind = isVague ? RemoteFailure : (ERRORS[kind] ?? RemoteFailure);
  return new Kind(doing, cause);
}

/** Translates errors of the client into the port's. */
async function toFleetErrors<T>(doing: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof RemoteFailure) throw new RemoteFailure(`${doing}: ${error.message}`);
    throw toFleetError(error, doing);
  }
}
