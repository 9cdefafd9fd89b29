import { fromPromise } from 'xstate';
import { sleep, type Clock, type Random } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { seniorityOf } from '../../domain/eligibility.ts';
import { NotFound } from '../../domain/errors.ts';
import type { SessionId, Slot } from '../../domain/ids.ts';
import type { SlotFacts } from '../../domain/machine.ts';
import { rankOf } from '../../domain/preference.ts';
import type { RequestInput, TurnInput } from '../../machines/lifecycle.ts';
import type { SessionKeeper } from '../session-keeper.ts';
import type { PermitQueue } from './permit-queue.ts';
import type { TaskPool } from './task-pool.ts';

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

/** Better ranked daemons come first. */
async function giveHeadStart(
  { clock, headStartMs }: Pick<AwaitTurnDeps, 'clock' | 'headStartMs'>,
  rank: number,
  signal: AbortSignal,
): Promise<void> {
  if (rank > 0) await sleep(clock, rank * headStartMs, signal);
}

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
    await giveHeadStart(deps, rank, signal);
    const row = deps.facts().get(slot)?.row;
    await taskPool.grant(slot, next, signal, row ? seniorityOf(PROCESS[next], row) : undefined);
  });

export type SettleRequestDeps = Pick<
  AwaitTurnDeps,
  'keeper' | 'sessions' | 'headStartMs' | 'facts' | 'clock'
> & { readonly log: Log };

/**
 * Carries out what an operator asked about a slot: with a live session, and after the head start of
 * better ranked daemons, unless one of them has done it meanwhile. What it does is one transaction
 * of the BMDB, and safe to repeat. Rejects while the request has to stay open.
 */
export const settleRequest = (deps: SettleRequestDeps) =>
  fromPromise<string, RequestInput>(async ({ input: { slot, key }, signal }) => {
    const { keeper, log } = deps;
    const session = await keeper.whenAlive(signal);
    const rank = rankOf(session.sessionId, deps.sessions(), slot);
    await giveHeadStart(deps, rank, signal);
    const known = deps.facts().get(slot);
    if (known && !known.requests.some((each) => each.key === key)) return key;
    try {
      const state = await session.settle(key);
      if (state === null) throw new StaysOpen(key);
      const { verb, by, reason, outcome } = state;
      log.info({ slot, key, verb, by, reason, state: state.state, outcome }, 'request settled');
    } catch (error) {
      // Whoever filed it took it back, or its time to be remembered is over.
      if (error instanceof NotFound) return key;
      if (error instanceof StaysOpen) throw error;
      log.warn({ err: error, slot, key }, 'a request could not be settled yet');
      throw error;
    }
    return key;
  });

/** Something else has to happen first; nothing went wrong. */
class StaysOpen extends Error {
  readonly code = 'stays-open';
  constructor(key: string) {
    super(`the request ${key} stays open for now`);
  }
}
