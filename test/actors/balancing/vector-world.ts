import type { BalancerCapabilities, LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { ObjectKind } from '../../../src/domain/balancing/objects.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import type { VirtualClock } from '../../doubles/simulated-clock.ts';
import { desired, M1, M2 } from '../../domain/balancing/pool.ts';
import type { BalancingStand, StandLife } from '../../support/balancing-stand.ts';

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
  /** The next calls of the kind come to nothing, or their answers are lost. */
  inject?(
    operation: 'observe' | 'create' | 'destroy',
    effect: 'failBefore' | 'failAfter' | 'untagged',
    times?: number,
  ): void;
  /** All calls are refused for so long. */
  throttle?(ms: number): void;
  cutOff?(isCut: boolean): void;
  /** So many connections are open on each server of the machine. */
  sessions?(machine: MachineId, count: number): void;
  /** Whether servers of the machine take new connections. */
  isOpen?(machine: MachineId): boolean;
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

export interface VectorContext {
  readonly stand: BalancingStand;
  start(): Promise<StandLife>;
  /** All 12 objects are there, and both machines active. */
  settle(): Promise<StandLife>;
}

export interface Vector {
  readonly name: string;
  readonly needs?: readonly (keyof VectorWorld)[];
  /** Only on balancers that can do this. */
  readonly only?: (capabilities: Pick<BalancerCapabilities, 'update' | 'adopt'>) => boolean;
  readonly pool?: Partial<Pool>;
  run(world: VectorWorld, context: VectorContext): Promise<void>;
}
