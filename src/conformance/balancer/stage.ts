import type { LoadBalancer } from '../../adapters/balancer/port.ts';
import { type Clock, sleep } from '../../adapters/clock/port.ts';
import type { Desired, Observed, PoolRef, Ref } from '../../domain/balancing/objects.ts';
import { must } from '../waiting.ts';

/** The input of a test of a balancer's driver. */
export interface BalancerSubject {
  readonly balancer: LoadBalancer;
  /** The test's own pool: nobody else may use its uid or names. */
  readonly owner: PoolRef;
  /** Another pool, which calls for the first must never see or change. */
  readonly stranger: PoolRef;
  /** An unused address and port for the test's clients. */
  readonly bind: { readonly address: string; readonly number: number };
  readonly clock: Clock;
  /** Time limit for an object to become ready, milliseconds. */
  readonly readyMs: number;
}

/** The steps' environment, and the objects they made. */
export interface BalancerStage extends BalancerSubject {
  /** Refs of created objects by kind; a step that takes them follows the step that gives them. */
  readonly made: ReadonlyMap<string, Ref>;
  /** Records an object before its creation. */
  making(spec: Desired['spec']): void;
  /** Names of all requested objects. */
  readonly names: ReadonlySet<string>;
  keep(ref: Ref): void;
  observe(signal: AbortSignal, owner?: PoolRef): Promise<readonly Observed[]>;
  /** The existing object of a ref. @throws {StepFailed} it is not shown. */
  see(ref: Ref, signal: AbortSignal): Promise<Observed>;
  /** Waits until the driver calls it ready. @throws {StepFailed} it is not ready in time. */
  ready(ref: Ref, signal: AbortSignal): Promise<void>;
}

const LOOK_EVERY_MS = 200;

/** @param onLeft called with the names of all possibly existing objects, whenever they change. */
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
      must(found.length > 0, `${ref.kind} ${ref.id} is not listed`);
      must(found.length === 1, `${ref.kind} ${ref.id} is listed twice`);
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

/** The test's objects: one of each kind. The server's address is reserved for documentation. */
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
