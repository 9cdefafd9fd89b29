import { nextBackoffSeconds } from '../../../../domain/backoff.ts';
import { isLadder, previousWaitSeconds } from '../../../../domain/eligibility.ts';
import { requestAcceptances } from '../recovery/acceptances.ts';
import { forgetMachines } from './forget.ts';
import { statements as tags } from '../delete-tags.ts';
import type { FailedEnding, Finish } from '../claims/held-claim.ts';
import type { LiveSession, SlotEvent } from '../live.ts';
import {
  coolDown,
  endUnasked,
  jittered,
  recordRecoveries,
  refuseOrders,
} from '../recovery/ladder-rows.ts';
import { ladderRetiring } from '../recovery/retiring.ts';
import type { Recovery, Rungs } from '../recovery/ladder-rows.ts';
import type { Queries } from '../pool.ts';
import { named, statement } from '../statement.ts';
import { orderedText } from '../../preconditions.ts';

export const statements = named('work', {
  backOff: statement({
    params: {
      waits: {
        ...{ machineId: 'uuid', process: 'process', wait: 'float8', cause: 'text' },
        ...{ seconds: 'int8', unreachable: 'bool' },
      },
    },
    text: ({ waits }) =>
      `INSERT INTO work_backoff AS b
         (machine_id, process, until, cause, last_interval_seconds, unreachable_since)
       SELECT machine_id, process, now() + wait * interval '1 second', cause, seconds,
         CASE WHEN unreachable THEN now() END
       FROM ${waits} ORDER BY 1
       ON CONFLICT (machine_id, process) DO UPDATE SET until = excluded.until,
         cause = excluded.cause, last_interval_seconds = excluded.last_interval_seconds,
         unreachable_since = CASE WHEN excluded.unreachable_since IS NOT NULL
           THEN coalesce(b.unreachable_since, excluded.unreachable_since) END`,
  }),
  ...ladderRetiring,
  countAttempts: statement({
    name: 'agent-start-count',
    params: { starts: { machineId: 'uuid', unreached: 'bool' } },
    text: ({ starts }) =>
      `INSERT INTO machine_agent_start_attempt AS t (machine_id, attempted_at, count, unreached)
       SELECT machine_id, NULL, 1, unreached::int FROM ${starts} ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET count = t.count + 1,
         unreached = t.unreached + excluded.unreached`,
  }),
  quarantine: statement({
    name: 'machines-quarantine',
    params: {
      parked: { machineId: 'uuid', kind: 'quarantine_kind', reason: 'text', cause: 'text?' },
      by: 'text',
    },
    text: ({ parked, by }) =>
      `INSERT INTO machine_quarantined (machine_id, kind, reason, cause, set_by)
       SELECT machine_id, kind, reason, cause, ${by} FROM ${parked} ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
         cause = excluded.cause, until = NULL, set_by = excluded.set_by
         WHERE machine_quarantined.kind <> 'byOperator' OR machine_quarantined.until <= now()`,
  }),
});

/** Writes the results of finished tasks, in the transaction that ends them. */
export async function applyChanges(
  q: Queries,
  session: LiveSession,
  finished: readonly Finish[],
): Promise<Rungs> {
  await forgetMachines(
    q,
    session,
    finished.filter(({ change }) => change.kind === 'deprovisioned'),
  );
  const recovered = finished.flatMap(({ held, change }): Recovery[] =>
    change.kind === 'recovered' ? [{ held, change }] : [],
  );
  if (recovered.length > 0) {
    const machines = recovered.map(({ held }) => held.machineId);
    await q.run(tags.forgetAgents, { machines });
    await q.run(tags.forgetHeartbeats, { machines });
    await q.run(tags.forgetAttempts, { machines });
    await q.run(tags.returnPermits, { machines });
  }
  const rungs = await recordRecoveries(q, session, recovered);
  const reinstalled = [...rungs].flatMap(([id, rung]) => (rung === 'reinstalling' ? [id] : []));
  await requestAcceptances(q, reinstalled, 'reinstalled');
  return rungs;
}

/** Writes the results of failed tasks, in the transaction that ends them. */
export async function recordFailures(
  q: Queries,
  session: LiveSession,
  failed: readonly FailedEnding[],
): Promise<void> {
  if (failed.length === 0) return;
  // Orders change neither the ladder nor its waits.
  const [ordered, own] = parted(failed, ({ also }) => also.order !== undefined);
  await backOff(q, session, own);
  const starts = own.filter(({ held }) => held.process === 'ShepherdAgentStart');
  if (starts.length > 0) {
    await q.run(statements.countAttempts, {
      starts: starts.map(({ held: { machineId }, also }) => ({
        machineId,
        unreached: also.unreached ?? false,
      })),
    });
  }
  const ladder = failed.filter(({ held }) => isLadder(held.process));
  if (ladder.length > 0) {
    await q.run(tags.returnPermits, { machines: ladder.map(({ held }) => held.machineId) });
  }
  await endUnasked(q, own);
  await coolDown(
    q,
    session,
    own.map(({ held, backoff }) => ({ held, descriptor: backoff })),
  );
  await quarantine(q, session, failed);
  await refuseOrders(q, session, ordered);
}

const parted = <Item>(items: readonly Item[], which: (item: Item) => boolean) =>
  [items.filter(which), items.filter((item) => !which(item))] as const;

async function backOff(
  q: Queries,
  session: LiveSession,
  failed: readonly FailedEnding[],
): Promise<void> {
  if (failed.length === 0) return;
  const waits = failed.map(({ held, backoff, cause, also }) => {
    const { machineId, process, row } = held;
    const seconds = nextBackoffSeconds(backoff, previousWaitSeconds(row, process));
    const wait = jittered(session, seconds);
    return { machineId, process, cause, seconds, wait, unreachable: also.unreachable ?? false };
  });
  await q.run(statements.backOff, { waits });
}

/** Quarantines machines that no operator has quarantined meanwhile. */
async function quarantine(
  q: Queries,
  session: LiveSession,
  failed: readonly FailedEnding[],
): Promise<void> {
  const parked = failed.flatMap(({ held, also: { quarantine: how } }) =>
    how ? [{ machineId: held.machineId, ...how }] : [],
  );
  if (parked.length === 0) return;
  const by = session.component;
  await q.run(statements.quarantine, { parked, by });
  const retired = parked.filter(({ retires }) => retires !== undefined);
  const idsOf = (those: typeof parked) => those.map(({ machineId }) => machineId);
  if (retired.length > 0) {
    await q.run(statements.retireSlots, { machines: idsOf(retired), by });
    const given = retired.filter(({ retires }) => retires === 'giveBack');
    await q.run(statements.giveBackRetired, { machines: idsOf(given), by });
  }
  await q.run(tags.returnPermits, { machines: idsOf(parked) });
}

/** Lines for the slot's log, written while a returned machine still has its slot. */
export function finishEvents({ held, change }: Finish, rungs: Rungs): SlotEvent[] {
  if (change.kind !== 'recovered') return [];
  const { machineId, row } = held;
  const reason = orderedText(rungs.get(machineId) ?? '', row, change.order ?? null);
  return [{ machineId, kind: 'recovered', reason }];
}

/** Lines for the slot's log. */
export function failureEvents({ held, cause, also }: FailedEnding): SlotEvent[] {
  const { machineId, process } = held;
  const { quarantine: how } = also;
  const failed = { machineId, kind: 'workFailed', reason: `${process}: ${cause}` };
  if (!how) return [failed];
  const retired = { machineId, kind: 'retired', reason: how.reason };
  return [
    failed,
    { machineId, kind: 'quarantined', reason: `${how.kind}: ${how.reason}` },
    ...(how.retires ? [retired] : []),
  ];
}
