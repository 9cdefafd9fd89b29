import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { type Clock, sleep } from '../../../clock/port.ts';
import { retryAfterMs } from '../../../http/retry-time.ts';
import type { Bmc, TurnHow } from './bmc.ts';
import { isAbsent } from './errors.ts';
import { locationOf } from './paths.ts';
import type { Reply } from './replies.ts';

/** Where the task of an accepted change is; null: it is done already. */
export const taskOf = ({ status, headers }: Reply, url: string): string | null =>
  status === 202 ? locationOf(headers.location, url) : null;

/** How a task ended; `unknown`: nobody knows of it any more, or it goes on beyond the time for it. */
export type TaskEnd = 'done' | 'unknown';

const WAIT_LEAST_MS = 1_000;
const WAIT_MOST_MS = 30_000;
const RUNNING = /^(New|Starting|Running|Suspended|Pending|Stopping|Service|Cancelling)$/;
const FAILED = /^(Exception|Killed|Cancelled|Interrupted)$/;

/**
 * Waits until a task is over, or its time is.
 * @param reply the answer that named it.
 * @throws {ProviderError} with `outcome: 'unknown'`: it failed, as its BMC says.
 */
export async function followTask(
  bmc: Bmc,
  reply: Reply,
  how: TurnHow & { readonly deadline: Date },
  clock: Clock,
): Promise<TaskEnd> {
  let path = taskOf(reply, bmc.url);
  for (let last = reply; path !== null;) {
    const waitMs = waitOf(last, clock.now());
    if (clock.now() + waitMs >= how.deadline.getTime()) return 'unknown';
    await sleep(clock, waitMs, how.signal).catch((cause: unknown) => {
      throw new ProviderError('aborted', 'aborted while a task went on', {
        cause,
        outcome: 'unknown',
      });
    });
    const next = await look(bmc, path, how);
    if (next === 'gone') return 'unknown';
    if (next === 'unreachable') continue;
    const state = String(next.json?.['TaskState'] ?? '');
    if (FAILED.test(state)) {
      throw new ProviderError('permanent', `a task of ${bmc.url} ended as ${state}`, {
        outcome: 'unknown',
      });
    }
    if (next.status !== 202 && !RUNNING.test(state)) return 'done';
    path = locationOf(next.headers.location, bmc.url) ?? path;
    last = next;
  }
  return 'done';
}

/** A BMC that does not answer may go on with its task. */
async function look(bmc: Bmc, path: string, how: TurnHow): Promise<Reply | 'gone' | 'unreachable'> {
  try {
    return await bmc.inTurn({ ...how, urgent: true }, (wire) => wire.poll(path));
  } catch (error) {
    if (isAbsent(error)) return 'gone';
    if (isProviderError(error, 'transient')) return 'unreachable';
    throw error;
  }
}

function waitOf({ headers }: Reply, nowMs: number): number {
  const told = headers['retry-after'];
  const askedMs =
    told === undefined ? WAIT_LEAST_MS : retryAfterMs(told, headers.date ?? null, nowMs);
  return Math.min(WAIT_MOST_MS, Math.max(WAIT_LEAST_MS, askedMs));
}
