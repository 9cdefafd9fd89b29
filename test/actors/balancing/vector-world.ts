import type { BalancerCapabilities, LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { ObjectKind } from '../../../src/domain/balancing/objects.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';
import { desired, M1, M2 } from '../../domain/balancing/pool.ts';
import type { BalancingStand, LifeOptions, StandLife } from '../../support/balancing-stand.ts';

/**
 * The published vectors of load balancing, on a running pool over any balancer. What an
 * implementation cannot be made to do it leaves out, and its vectors are not run.
 */
export interface VectorWorld {
  readonly clock: VirtualClock;
  readonly balancer: LoadBalancer;
  /** Lets virtual time pass, with all that happens in it. */
  pass(ms: number): Promise<void>;
  /** Everything of the pool's that is there, `<kind> <name>`, sorted. */
  names(): readonly string[];
  /** What was asked to be changed since this was asked last: `<operation> <name>`. */
  takeWrites(): readonly string[];
  /** How many calls there were at all. */
  calls(): number;
  end(): Promise<void>;
  /** Everything that is there, whoever's it is, as `names` has it. */
  everything(): readonly string[];
  /** The driver of a new process, which remembers nothing. */
  another(): LoadBalancer;
  /** Puts a server of ours there that nobody wants. */
  addServer?(name: string): void;
  /** Puts the same object there once more. */
  twin?(kind: ObjectKind, name: string): void;
  /** Takes its owner's mark off it. */
  untag?(kind: ObjectKind, name: string): void;
  /** An object with our name that another owner marked. */
  foreign?(kind: ObjectKind, name: string): void;
  /** The balancer calls it failed; `stubborn`: whatever is asked of it. */
  fail?(kind: ObjectKind, name: string, stubborn?: boolean): void;
  /** Removes it behind everybody's back. */
  lose?(kind: ObjectKind, name: string): void;
  /** It gets ready only when it is told, if ever. */
  holdBack?(kind: ObjectKind, name: string): void;
  /** The next calls of the kind, or those after the first ones, come to nothing, or their answers are lost. */
  inject?(
    operation: 'observe' | 'create' | 'destroy',
    effect: 'failBefore' | 'failAfter',
    times?: number,
    skip?: number,
  ): void;
  /** The next creation ends halfway, as by a crash: it is there, and not marked or not loaded. */
  leaveHalf?(): void;
  /** All calls are refused for so long. */
  throttle?(ms: number): void;
  cutOff?(isCut: boolean): void;
  /** So many connections are open on each server of the machine. */
  sessions?(machine: MachineId, count: number): Promise<void>;
  /** Whether servers of the machine take new connections. */
  isOpen?(machine: MachineId): boolean;
  /** Whether the balancer's own checks find the machine well. Resolves when they did. */
  makeWell?(machine: MachineId, isWell: boolean): Promise<void>;
  /** What the operator wrote beside ours cannot be loaded. */
  spoil?(isSpoiled: boolean): void;
  /** The balancer's program ends, and is started again. */
  restart?(): Promise<void>;
  /** Clients of the first port, and so many connections that stay open. */
  clients?(held: number): { stop(): Promise<typeof UNHARMED> };
  /** A second balancer, which cannot make binds of IPv6. */
  openOther?(): Promise<LoadBalancer>;
  /** What of the pool is otherwise than in the table. */
  readonly pool?: Partial<Pool>;
  /** Where machines really are, by their address in the table; absent: there. */
  readonly addresses?: ReadonlyMap<string, string>;
}

export const MINUTE = 60_000;
/** What is to be there, as `names` has it. */
export const all = (ids: readonly MachineId[] = [M1, M2], change: Partial<Pool> = {}): string[] =>
  desired(ids, change)
    .map(({ spec }) => `${spec.kind} ${spec.name}`)
    .toSorted();

/** What clients of a pool found that does its work. */
export const UNHARMED = { refused: 0, cut: 0 };

export interface VectorContext {
  readonly stand: BalancingStand;
  readonly pool: Pool;
  /** As `all`, in the pool of this world. */
  all(ids?: readonly MachineId[], change?: Partial<Pool>): readonly string[];
  /** A daemon, which may have the pool otherwise configured. */
  start(change?: Partial<Pool>, how?: LifeOptions): Promise<StandLife>;
  /** The same, until all objects are there, and both machines active. */
  settle(change?: Partial<Pool>): Promise<StandLife>;
}

export interface Vector {
  /** Begins with its numbers in the table of the specification, where it is there. */
  readonly name: string;
  /** Our own decision, in which the balancer has no say: it is shown in memory only. */
  readonly isOurs?: true;
  readonly needs?: readonly (keyof VectorWorld)[];
  /** Only on balancers that can do this. */
  readonly only?: (capabilities: Pick<BalancerCapabilities, 'update'>) => boolean;
  readonly pool?: Partial<Pool>;
  run(world: VectorWorld, context: VectorContext): Promise<void>;
}

/**
 * Lets virtual time pass while a peer lives in real time: it stands still while anything is under way.
 * @param quiet resolves when nothing is.
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
