import type { BmdbSession, Lease } from '../adapters/bmdb/port.ts';
import { sleep, type Clock, type Random } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { explain } from '../domain/errors.ts';
import type { ProviderName, SessionId } from '../domain/ids.ts';
import type { SessionKeeper } from './session-keeper.ts';

/** Jobs that one daemon holds at a time, and those that this daemon holds. */
export interface Leases {
  /**
   * Resolves once the job is ours, at once if it already is; tries every few seconds.
   * @throws {SessionExpired}
   */
  take(job: string, signal: AbortSignal): Promise<Lease>;
  /** The live session's lease, if the session took the job. */
  held(job: string): Lease | null;
  /**
   * Returns all jobs of a session, so that others need not wait for its end; absent: of any
   * session. Never fails.
   */
  releaseAll(of?: BmdbSession | null): Promise<void>;
}

interface LeasesDeps {
  readonly keeper: SessionKeeper;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Holder of the job as of the last read of the BMDB; null: none known. */
  readonly holderOf: (job: string) => SessionId | null;
  /** Interval between requests for a job that another daemon holds, ± 20 %. */
  readonly retryMs: number;
}

/** The lease for provisioning and updating a provider. */
export const provisionerJob = (provider: ProviderName): string => `provisioner/${provider}`;

export function createLeases(deps: LeasesDeps): Leases {
  const { keeper, holderOf, clock, random, log, retryMs } = deps;
  const taken = new Map<string, { readonly session: BmdbSession; readonly lease: Lease }>();
  return {
    async take(job, signal) {
      for (;;) {
        const session = keeper.require();
        const known = taken.get(job);
        // A job stays its holder's while the session lives and no row names another session.
        if (known?.session === session && holderOf(job) === session.sessionId) return known.lease;
        const lease = await session.lease(job);
        if (lease) {
          taken.set(job, { session, lease });
          return lease;
        }
        taken.delete(job);
        const waits = AbortSignal.any([signal, session.signal]);
        await sleep(clock, retryMs * (0.8 + 0.4 * random.next()), waits);
      }
    },
    held(job) {
      const found = taken.get(job);
      return found && keeper.current() === found.session ? found.lease : null;
    },
    async releaseAll(of) {
      const ending = [...taken].filter(([, { session }]) => of === undefined || session === of);
      for (const [job] of ending) taken.delete(job);
      for (const [, { lease, session }] of ending) {
        // A dead session has lost its jobs already.
        if (session.signal.aborted) continue;
        await lease.release().catch((error: unknown) => {
          const fields = { job: lease.name, cause: explain(error) };
          log.warn(fields, 'a job could not be released; it becomes free when the session ends');
        });
      }
    },
  };
}
