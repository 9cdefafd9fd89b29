import type { LoadBalancer } from '../../adapters/balancer/port.ts';
import { type Clock, sleep } from '../../adapters/clock/port.ts';
import type { Desired, Observed, PoolRef, Ref } from '../../domain/balancing/objects.ts';
import { must } from '../waiting.ts';

/** What a driver of load balancers is tested with. */
export interface BalancerSubject {
  readonly balancer: LoadBalancer;
  /** A pool of the test's own: nothing of anybody else may bear its uid or its names. */
  readonly owner: PoolRef;
  /** Another pool, of which nothing may ever be seen or changed by calls for the first. */
  readonly stranger: PoolRef;
  /** Where the test's pool takes clients in: an address and a port that nobody uses. */
  readonly bind: { readonly address: string; readonly number: number };
  readonly clock: Clock;
  /** So long an object may take until it is ready, milliseconds. */
  readonly readyMs: number;
}

/** Where the steps play, and what they made. */
export interface BalancerStage extends BalancerSubject {
  /** Refs of what was made, by kind; a step that takes them comes after the one that gives them. */
  readonly made: ReadonlyMap<string, Ref>;
  /** What is being made, before it is known whether it was. */
  making(spec: Desired['spec']): void;
  /** Names of all that was to be made. */
  readonly names: ReadonlySet<string>;
  keep(ref: Ref): void;
  observe(signal: AbortSignal, owner?: PoolRef): Promise<readonly Observed[]>;
  /** One that is there, by its ref. @throws {StepFailed} it is not shown. */
  see(ref: Ref, signal: AbortSignal): Promise<Observed>;
  /** Waits until the driver says that it is ready. @throws {StepFailed} it is not in time. */
  ready(ref: Ref, signal: AbortSignal): Promise<void>;
}

const LOOK_EVERY_MS = 200;

/** @param onLeft is told the names of all that may be there, whenever that changes. */
export function createBalancerStage(
  subject: BalancerSubject,
  onLeft?: (names: readonly string[]) => void,
): BalancerStage {
  const { balancer, owner, clock, readyMs } = subject;
  const made = new Map<string, Ref>();
  const names = new Set<string>();
  const observe: BalancerStage['observe'] = (signal, of = owner) =>
    balancer.observe(of, { signal });
  return {
    ...subject,
    made,
    names,
    making({ kind, name }) {
      names.add(`${kind} ${name}`);
      onLeft?.([...names]);
    },
    keep: (ref) => void made.set(ref.kind, ref),
    observe,
    async see(ref, signal) {
      const found = (await observe(signal)).filter((each) => isSame(each.ref, ref));
      must(found.length > 0, `${ref.kind} ${ref.id} is not shown`);
      must(found.length === 1, `${ref.kind} ${ref.id} is shown twice`);
      return found[0]!;
    },
    async ready(ref, signal) {
      const endsAt = clock.monotonic() + readyMs;
      for (;;) {
        const phase = await balancer.refresh(ref, owner, { signal });
        if (phase === 'ready') return;
        must(phase !== 'failed', `${ref.kind} ${ref.id} failed`);
        must(clock.monotonic() < endsAt, `${ref.kind} ${ref.id} is not ready in time`);
        await sleep(clock, LOOK_EVERY_MS, signal);
      }
    },
  };
}

export const isSame = (one: Ref, other: Ref): boolean =>
  one.kind === other.kind && one.id === other.id;

const PORT = 'probe';

/** What the test makes: one object of each kind. Its server is at an address for documentation. */
export const desiredOf = ({ owner, bind }: BalancerSubject) => ({
  backend: desired({ kind: 'backend', name: `${PORT}.${owner.suffix}`, check: { by: 'tcp' } }),
  frontend: desired({ kind: 'frontend', name: `${PORT}.${owner.suffix}` }),
  bind: desired({ kind: 'bind', name: `v4.${PORT}.${owner.suffix}`, ...bind }),
  server: desired({
    kind: 'server',
    name: `m1.${PORT}.${owner.suffix}`,
    ...{ address: '192.0.2.1', number: 30_080 },
  }),
});

const desired = <S extends Desired['spec']>(spec: S) => ({ port: PORT, spec });
