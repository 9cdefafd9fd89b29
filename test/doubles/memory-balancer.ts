import type {
  BalancerCapabilities,
  BalancerCall,
  LoadBalancer,
} from '../../src/adapters/balancer/port.ts';
import type { Clock } from '../../src/adapters/clock/port.ts';
import {
  isSameSpec,
  PARENT_KIND,
  type Desired,
  type Observed,
  type Phase,
  type PoolRef,
  type Ref,
  type ServerMode,
  type Spec,
} from '../../src/domain/balancing/objects.ts';
import { Cancelled, RemoteFailure, Throttled, Unreachable } from '../../src/domain/errors.ts';

/** An object at an in-memory balancer, whoever owns it. */
export interface HeldObject {
  readonly id: string;
  spec: Spec;
  parentId: string | null;
  /** Uid of the owner; null: none. */
  owner: string | null;
  /** Ready from this time on (monotonic); `Infinity`: never. */
  readyAtMs: number;
  isFailed: boolean;
  differs?: string;
  mode: ServerMode;
  /** Open connections; 0 while the balancer sends no traffic to the object yet. */
  sessions: number;
}

export type BalancerOperation =
  | 'observe'
  | 'create'
  | 'adopt'
  | 'update'
  | 'destroy'
  | 'refresh'
  | 'setMember';

export interface BalancerFault {
  readonly operation: BalancerOperation;
  /** Nothing is done; done but the answer is lost; or done without the tag (of `create`). */
  readonly effect: 'failBefore' | 'failAfter' | 'untagged';
  /** Number of spoiled calls; default 1. */
  times?: number;
  /** Number of matching calls that pass before the first spoiled call. */
  skip?: number;
  /** Only calls about objects whose names start with this text. */
  readonly about?: string;
  readonly error?: Error;
}

export interface MemoryBalancerOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly capabilities?: Partial<BalancerCapabilities>;
  /** Objects become ready this long after their creation or update. */
  readonly readyAfterMs?: number;
  /** Health of the servers at an address; default `up`. */
  readonly healthOf?: (address: string) => 'up' | 'down' | 'unknown';
  /** Called at the start of each call, with the call's signal. */
  readonly onCall?: (operation: BalancerOperation, name: string, signal: AbortSignal) => void;
  /** Objects per page of a list, only for counting calls. */
  readonly pageSize?: number;
}

export type MemoryBalancer = ReturnType<typeof createMemoryBalancer>;

/** A load balancer in a map. It keeps every promise of the port, and breaks them on demand. */
export function createMemoryBalancer(options: MemoryBalancerOptions) {
  const { clock, readyAfterMs = 0, healthOf = () => 'up', onCall } = options;
  const capabilities: BalancerCapabilities = {
    update: true,
    drain: 'native',
    sessions: true,
    health: true,
    async: readyAfterMs > 0,
    adopt: true,
    atOnce: 1,
    ...options.capabilities,
  };
  const held = new Map<string, HeldObject>();
  const faults: BalancerFault[] = [];
  const calls: { operation: BalancerOperation; name: string }[] = [];
  let nextId = 1;
  let throttledUntilMs: number | null = null;
  let reachable = true;
  let isClosed = false;
  const gates = new Map<BalancerOperation, Promise<void>>();

  const phaseOf = ({ isFailed, readyAtMs }: HeldObject): Phase =>
    isFailed ? 'failed' : clock.monotonic() >= readyAtMs ? 'ready' : 'progressing';
  const named = ({ suffix }: PoolRef, { spec }: HeldObject) => spec.name.endsWith(`.${suffix}`);
  const childrenOf = (id: string) =>
    [...held.values()].filter(({ parentId, spec }) => {
      const parentKind = PARENT_KIND[spec.kind];
      return parentId === id && parentKind !== null && held.get(id)?.spec.kind === parentKind;
    });

  /** One call, subject to the injected faults. */
  async function call<T>(
    operation: BalancerOperation,
    name: string,
    { signal }: BalancerCall,
    act: (fault: BalancerFault | null) => T,
  ): Promise<T> {
    if (isClosed) throw new Cancelled('the balancer is closed');
    // After a rate limit the driver itself refuses calls.
    if (throttledUntilMs !== null && clock.now() < throttledUntilMs) {
      throw new Throttled('slow down', throttledUntilMs);
    }
    calls.push({ operation, name });
    onCall?.(operation, name, signal);
    await gates.get(operation);
    if (signal.aborted) throw new Cancelled('the call was given up', { cause: signal.reason });
    if (!reachable) throw new Unreachable('the balancer does not answer');
    const fault = takeFault(operation, name);
    const error = fault?.error ?? new RemoteFailure(`scripted failure of ${operation} ${name}`);
    if (fault?.effect === 'failBefore') throw error;
    const answer = act(fault);
    await Promise.resolve();
    if (fault) throw error;
    return answer;
  }

  function takeFault(operation: BalancerOperation, name: string): BalancerFault | null {
    const found = faults.find(
      (each) => each.operation === operation && name.startsWith(each.about ?? ''),
    );
    if (!found) return null;
    if ((found.skip ?? 0) > 0) {
      found.skip! -= 1;
      return null;
    }
    found.times = (found.times ?? 1) - 1;
    if (found.times <= 0) faults.splice(faults.indexOf(found), 1);
    return found;
  }

  const nameOf = ({ id }: Ref) => held.get(id)?.spec.name ?? id;
  const need = ({ id }: Ref): HeldObject => {
    const found = held.get(id);
    if (!found) throw new RemoteFailure(`there is no object ${id}`);
    return found;
  };
  const observedOf = (object: HeldObject, { uid }: PoolRef): Observed => {
    const { id, spec, parentId, owner, differs, mode, sessions } = object;
    const isServer = spec.kind === 'server';
    return {
      ref: { kind: spec.kind, id },
      spec,
      parentId,
      phase: phaseOf(object),
      tagged: owner === uid,
      ...(differs !== undefined && { differs }),
      ...(isServer && {
        server: {
          ...(capabilities.drain === 'native' && { mode }),
          ...(capabilities.health && { health: healthOf(spec.address) }),
          ...(capabilities.sessions && { sessions }),
        },
      }),
    };
  };

  const balancer: LoadBalancer = {
    capabilities,
    observe: (owner, options) =>
      call('observe', owner.pool, options, () =>
        [...held.values()]
          .filter((each) => each.owner === owner.uid || (!each.owner && named(owner, each)))
          .map((each) => observedOf(each, owner)),
      ),
    create: (desired, parent, owner, options) =>
      call('create', desired.spec.name, options, (fault): Ref => {
        const { spec } = desired;
        const known = [...held.values()].find(
          (each) =>
            isSameSpec(each.spec, spec) &&
            each.parentId === (parent?.id ?? null) &&
            (each.owner === null || each.owner === owner.uid),
        );
        if (known) {
          known.owner = owner.uid;
          return { kind: spec.kind, id: known.id };
        }
        if (parent && !held.has(parent.id)) throw new RemoteFailure(`no parent of ${spec.name}`);
        const taken = [...held.values()].find(
          (each) =>
            spec.kind === 'bind' &&
            each.spec.kind === 'bind' &&
            each.spec.address === spec.address &&
            each.spec.number === spec.number,
        );
        if (taken) throw new RemoteFailure(`${taken.spec.name} is there already`);
        const id = `id-${String(nextId++).padStart(4, '0')}`;
        held.set(id, {
          id,
          spec,
          parentId: parent?.id ?? null,
          owner: fault?.effect === 'untagged' ? null : owner.uid,
          readyAtMs: clock.monotonic() + readyAfterMs,
          isFailed: false,
          mode: capabilities.drain === 'native' ? 'drain' : 'active',
          sessions: 0,
        });
        return { kind: spec.kind, id };
      }),
    destroy: (ref, _owner, options) =>
      call('destroy', nameOf(ref), options, () => {
        const children = childrenOf(ref.id);
        if (children.length > 0) {
          throw new RemoteFailure(`${nameOf(ref)} is used by ${children[0]!.spec.name}`);
        }
        held.delete(ref.id);
      }),
    refresh: (ref, _owner, options) =>
      call('refresh', nameOf(ref), options, () => {
        const found = held.get(ref.id);
        return found ? phaseOf(found) : 'failed';
      }),
    async close() {
      isClosed = true;
    },
    ...(capabilities.adopt && {
      adopt: (ref, owner, options) =>
        call('adopt', nameOf(ref), options, () => {
          need(ref).owner = owner.uid;
        }),
    }),
    ...(capabilities.update && {
      update: (ref, desired, parent, _owner, options) =>
        call('update', nameOf(ref), options, () => {
          const object = need(ref);
          object.spec = desired.spec;
          object.parentId = parent?.id ?? null;
          delete object.differs;
          if (stubborn.has(desired.spec.name)) return;
          object.isFailed = false;
          object.readyAtMs = clock.monotonic() + readyAfterMs;
        }),
    }),
    ...(capabilities.drain === 'native' && {
      setMember: (ref, mode, _owner, options) =>
        call('setMember', `${mode} ${nameOf(ref)}`, options, () => {
          const object = need(ref);
          object.mode = mode;
          if (mode === 'off') object.sessions = 0;
        }),
    }),
  };
  const stubborn = new Set<string>();

  return {
    balancer,
    held,
    calls,
    /** Calls that change something. */
    writes: () =>
      calls.filter(({ operation }) => operation !== 'observe' && operation !== 'refresh'),
    names: () => [...held.values()].map(({ spec }) => `${spec.kind} ${spec.name}`).toSorted(),
    find: (kind: string, name: string): HeldObject => {
      const found = [...held.values()].find(
        ({ spec }) => spec.kind === kind && spec.name.startsWith(name),
      );
      if (!found) throw new Error(`there is no ${kind} ${name}`);
      return found;
    },
    servers: (machine: string): HeldObject[] =>
      [...held.values()].filter(
        ({ spec }) => spec.kind === 'server' && spec.name.startsWith(machine),
      ),
    inject: (fault: BalancerFault) => void faults.push({ ...fault }),
    forgiveFaults: () => void faults.splice(0),
    /** An update does not repair the object's failure. */
    makeStubborn: (name: string) => void stubborn.add(name),
    /** Refuses every call until this time, epoch ms. */
    throttle: (untilMs: number) => (throttledUntilMs = untilMs),
    cutOff: (isCut: boolean) => (reachable = !isCut),
    /** Blocks calls of this kind until the returned function is called. */
    hang: (operation: BalancerOperation): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gates.set(operation, promise);
      return () => {
        gates.delete(operation);
        resolve();
      };
    },
    /** Adds an object behind everybody's back. */
    put: (object: Partial<HeldObject> & Pick<HeldObject, 'spec'>): HeldObject => {
      const id = object.id ?? `id-${String(nextId++).padStart(4, '0')}`;
      const put: HeldObject = {
        parentId: null,
        owner: null,
        readyAtMs: 0,
        isFailed: false,
        mode: 'active',
        sessions: 0,
        ...object,
        id,
      };
      held.set(id, put);
      return put;
    },
  };
}

/** Adds a pool's desired objects, as if they had always existed. */
export function putAll(memory: MemoryBalancer, desired: readonly Desired[], owner: string): void {
  const parents = new Map<string, string>();
  for (const { spec, port } of desired) {
    const parentKind = PARENT_KIND[spec.kind];
    const parentId = parentKind ? (parents.get(`${parentKind} ${port}`) ?? null) : null;
    const { id } = memory.put({ spec, owner, parentId });
    parents.set(`${spec.kind} ${port}`, id);
  }
}
