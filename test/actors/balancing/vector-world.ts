import type { BalancerCapabilities, LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { ObjectKind } from '../../../src/domain/balancing/objects.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';
import { desired, M1, M2 } from '../../domain/balancing/pool.ts';
import type { BalancingStand, LifeOptions, StandLife } from '../../support/balancing-stand.ts';

/**
 * The published vectors of load balancing, on a running pool over any balancer. An implementation
 * leaves out what it cannot do, and the vectors that need it are skipped.
 */
export interface VectorWorld {
  readonly clock: VirtualClock;
  readonly balancer: LoadBalancer;
  /** Advances virtual time, with everything that happens in it. */
  pass(ms: number): Promise<void>;
  /** All objects of the pool, `<kind> <name>`, sorted. */
  names(): readonly string[];
  /** Requested changes since the last call: `<operation> <name>`. */
  takeWrites(): readonly string[];
  /** Total number of calls. */
  calls(): number;
  end(): Promise<void>;
  /** All objects of any owner, as `names` formats them. */
  everything(): readonly string[];
  /** The driver of a new process, without memory. */
  another(): LoadBalancer;
  /** Adds a server of ours that nobody wants. */
  addServer?(name: string): void;
  /** Adds the same object once more. */
  twin?(kind: ObjectKind, name: string): void;
  /** Removes its owner's mark. */
  untag?(kind: ObjectKind, name: string): void;
  /** Adds an object with our name and another owner's mark. */
  foreign?(kind: ObjectKind, name: string): void;
  /** Marks it as failed at the balancer; `stubborn`: for good. */
  fail?(kind: ObjectKind, name: string, stubborn?: boolean): void;
  /** Removes it behind everybody's back. */
  lose?(kind: ObjectKind, name: string): void;
  /** Keeps it not ready until further notice. */
  holdBack?(kind: ObjectKind, name: string): void;
  /** The next calls of this kind, or those after the first ones, fail, or lose their answers. */
  inject?(
    operation: 'observe' | 'create' | 'destroy',
    effect: 'failBefore' | 'failAfter',
    times?: number,
    skip?: number,
  ): void;
  /** The next creation stops halfway: the object exists, but is not marked or not loaded. */
  leaveHalf?(): void;
  /** Refuses all calls for this long. */
  throttle?(ms: number): void;
  cutOff?(isCut: boolean): void;
  /** Opens this many connections on each server of the machine. */
  sessions?(machine: MachineId, count: number): Promise<void>;
  /** Whether the machine's servers accept new connections. */
  isOpen?(machine: MachineId): boolean;
  /** Sets the result of the balancer's own checks of the machine. Resolves when they have it. */
  makeWell?(machine: MachineId, isWell: boolean): Promise<void>;
  /** Makes the operator's own configuration unloadable. */
  spoil?(isSpoiled: boolean): void;
  /** Restarts the balancer's program. */
  restart?(): Promise<void>;
  /** Clients of the first port, and this many held connections. */
  clients?(held: number): { stop(): Promise<typeof UNHARMED> };
  /** A second balancer without IPv6 binds. */
  openOther?(): Promise<LoadBalancer>;
  /** Changes to the table's pool. */
  readonly pool?: Partial<Pool>;
  /** Real addresses of machines by their address in the table; default: the same. */
  readonly addresses?: ReadonlyMap<string, string>;
}

export const MINUTE = 60_000;
/** The expected objects, as `names` formats them. */
export const all = (ids: readonly MachineId[] = [M1, M2], change: Partial<Pool> = {}): string[] =>
  desired(ids, change)
    .map(({ spec }) => `${spec.kind} ${spec.name}`)
    .toSorted();

/** The clients' result at a working pool. */
export const UNHARMED = { refused: 0, cut: 0 };

export interface VectorContext {
  readonly stand: BalancingStand;
  readonly pool: Pool;
  /** As `all`, in the pool of this world. */
  all(ids?: readonly MachineId[], change?: Partial<Pool>): readonly string[];
  /** Starts a daemon, with its own pool configuration if given. */
  start(change?: Partial<Pool>, how?: LifeOptions): Promise<StandLife>;
  /** The same, and waits until all objects exist and both machines are active. */
  settle(change?: Partial<Pool>): Promise<StandLife>;
}

export interface Vector {
  /** Starts with its numbers in the specification's table, if it is there. */
  readonly name: string;
  /** Our own decision, independent of the balancer: tested in memory only. */
  readonly isOurs?: true;
  readonly needs?: readonly (keyof VectorWorld)[];
  /** Only for balancers with this capability. */
  readonly only?: (capabilities: Pick<BalancerCapabilities, 'update'>) => boolean;
  readonly pool?: Partial<Pool>;
  run(world: VectorWorld, context: VectorContext): Promise<void>;
}

/**
 * Advances virtual time with a peer in real time: time stands still while anything is under way.
 * @param quiet resolves when nothing is under way.
 */
export async function passWhen(
  clock: VirtualClock,
  ms: number,
  quiet: () => Promise<void>,
): Promise<void> {
  const endMs = clock.monotonic() + ms;
  for (;;) {
    await quiet();
    const next = clock.untilNext();
    if (next === null || clock.monotonic() + next > endMs) break;
    clock.increment(next);
  }
  clock.increment(endMs - clock.monotonic());
  await quiet();
}
