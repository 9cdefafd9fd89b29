import { fromPromise } from 'xstate';
import { sleep, type Clock, type Random } from '../../adapters/clock/port.ts';
import { seniorityOf } from '../../domain/eligibility.ts';
import type { SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import { rankOf } from '../../domain/daemons.ts';
import type { TurnInput } from '../../machines/lifecycle-setup.ts';
import type { TaskPool } from './task-pool.ts';
import type { PermitQueue } from './permit-queue.ts';
import type { SessionKeeper } from '../session-keeper.ts';

export interface AwaitTurnDeps {
  readonly taskPool: TaskPool;
  readonly keeper: SessionKeeper;
  readonly permits: PermitQueue;
  /** Live sessions that run the loops. */
  readonly sessions: () => readonly SessionId[];
  /** A daemon of rank n waits n times this before it asks for a machine. */
  readonly headStartMs: number;
  /** Longest pause after tasks that went wrong in a row; 30 s when absent. */
  readonly setbackMaxMs?: number;
  /** What is known of all slots, for the order of those that wait for a place. */
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly clock: Clock;
  readonly random: Random;
}

const PROCESS = {
  agentStart: 'ShepherdAgentStart',
  recovery: 'ShepherdRecovery',
  deprovision: 'ShepherdDeprovision',
} as const;
const SETBACK_FIRST_MS = 250;
const SETBACK_MAX_MS = 30_000;

/**
 * Resolves when this daemon may work on the machine: after a pause for what went wrong before, with
 * a live session, with room in the recovery budget if it is about that, after the head start of
 * better ranked daemons, and with a place in the pool.
 */
export const awaitTurn = (deps: AwaitTurnDeps) =>
  fromPromise<void, TurnInput>(async ({ input: { slot, next, setbacks }, signal }) => {
    const { clock, random, taskPool, keeper } = deps;
    if (setbacks > 0) {
      const longestMs = deps.setbackMaxMs ?? SETBACK_MAX_MS;
      const pauseMs = Math.min(longestMs, SETBACK_FIRST_MS * 2 ** setbacks);
      await sleep(clock, pauseMs * (0.5 + random.next()), signal);
    }
    const session = await keeper.whenAlive(signal);
    const rank = rankOf(session.sessionId, deps.sessions(), slot);
    if (next === 'recovery') await deps.permits.wait(slot, signal);
    if (rank > 0) await sleep(clock, rank * deps.headStartMs, signal);
    const row = deps.facts().get(slot)?.row;
    await taskPool.grant(slot, next, signal, row ? seniorityOf(PROCESS[next], row) : undefined);
  });
