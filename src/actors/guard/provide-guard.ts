import { fromPromise } from 'xstate';
import type { Bmdb, BmdbSession } from '../../adapters/bmdb/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { slot, type SessionId, type Slot } from '../../domain/ids.ts';
import { isOfMachine } from '../../domain/verbs.ts';
import type { RequestRow } from '../../domain/machine.ts';
import { rankOf } from '../../domain/daemons.ts';
import { guard, type GuardFindings } from '../../machines/guard.ts';
import type { GuardWatch } from './watch.ts';
import type { Mirror } from '../mirror/mirror.ts';
import type { SessionKeeper } from '../session-keeper.ts';

export interface GuardDeps {
  readonly bmdb: Pick<Bmdb, 'guard'>;
  readonly keeper: Pick<SessionKeeper, 'require'>;
  readonly mirror: Pick<Mirror, 'requests' | 'facts' | 'sessions' | 'nowMs'>;
  readonly watch: GuardWatch;
  /** Whether a heartbeat arriving now would be recorded. */
  readonly isTakingIn: () => boolean;
  /** Whether it applies requests about the guard; absent: true. */
  readonly isApplying?: boolean;
  /** A daemon of rank n waits n times this before it applies a request. */
  readonly headStartMs: number;
  readonly log: Log;
}

/** A slot still unknown after this long is no slot of ours. */
export const STRAY_MS = 10_000;

/** Provides the guard's chart with services that work on the BMDB. */
export function provideGuard(deps: GuardDeps) {
  const { bmdb, watch, log, isTakingIn } = deps;
  return guard.provide({
    actors: {
      assess: fromPromise<GuardFindings, void>(async () => {
        const found = await bmdb.guard.assess({ ingestUp: isTakingIn() });
        return { rows: found.rows, counts: found.counts, standings: watch.judge(found) };
      }),
      settleGuardRequests: fromPromise<void, void>(({ signal }) => applyDue(deps, signal)),
    },
    actions: {
      reportFindings: (_, { findings }) => watch.take(findings, findings.standings),
      reportBlind: (_, { error }) => {
        watch.lose();
        log.warn({ err: error }, 'the guard could not assess the fleet: no machine is recovered');
      },
      reportUnsettled: (_, { error }) =>
        log.warn({ err: error }, 'requests about the guard could not be applied yet'),
    },
  });
}

/** Applies due requests one after the other; a failure does not hold up the others. */
async function applyDue(deps: GuardDeps, signal: AbortSignal): Promise<void> {
  const { keeper, log } = deps;
  const { isApplying = true } = deps;
  const open = isApplying ? deps.mirror.requests().filter(isGuards(deps)) : [];
  if (open.length === 0) return;
  const session = keeper.require();
  for (const request of open.filter(isDue(deps, session.sessionId))) {
    if (signal.aborted) return;
    await applyOne(session, request, log);
  }
}

/** Whether the request concerns a slot without a responsible actor. */
const isGuards =
  ({ mirror }: GuardDeps) =>
  (request: RequestRow): boolean => {
    if (!isOfMachine(request.verb)) return true;
    const age = mirror.nowMs() - request.createdAtMs;
    return age >= STRAY_MS && !mirror.facts().has(keyOf(request) as Slot);
  };

/** A daemon of lower rank gives higher ranks time to apply the request first. */
const isDue =
  ({ mirror, headStartMs }: GuardDeps, self: SessionId) =>
  (request: RequestRow): boolean => {
    const rank = rankOf(self, mirror.sessions(), keyOf(request) as Slot);
    return mirror.nowMs() >= request.createdAtMs + rank * headStartMs;
  };

function keyOf({ provider, slotId, pool }: RequestRow): string {
  if (pool) return `pool ${pool.pool} at ${pool.balancer ?? 'all balancers'}`;
  return provider !== null && slotId !== null ? slot(provider, slotId) : (provider ?? 'fleet');
}

async function applyOne(session: BmdbSession, request: RequestRow, log: Log): Promise<void> {
  const { key, verb, by, reason } = request;
  const fields = { request: key, verb, of: keyOf(request), by, reason };
  try {
    const applied = await session.applyRequest(key);
    if (applied) log.info({ ...fields, state: applied.state, outcome: applied.outcome }, SETTLED);
  } catch (err) {
    log.warn({ ...fields, err }, 'a request could not be applied yet');
  }
}

const SETTLED = 'a request was applied or refused';
