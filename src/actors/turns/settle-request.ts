import { fromPromise } from 'xstate';
import { sleep } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { NotFound } from '../../domain/errors.ts';
import { rankOf } from '../../domain/daemons.ts';
import type { RequestInput } from '../../machines/lifecycle-setup.ts';
import type { AwaitTurnDeps } from './await-turn.ts';

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
    const { keeper, clock, log } = deps;
    const session = await keeper.whenAlive(signal);
    const rank = rankOf(session.sessionId, deps.sessions(), slot);
    if (rank > 0) await sleep(clock, rank * deps.headStartMs, signal);
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
