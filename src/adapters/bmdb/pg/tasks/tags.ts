import { nextBackoffSeconds } from '../../../../domain/backoff.ts';
import { isLadder, previousWaitSeconds } from '../../../../domain/eligibility.ts';
import { forgetMachines } from './forget.ts';
import { statements as tags } from '../delete-tags.ts';
import type { Failure, Finish } from '../claims/held-claim.ts';
import type { LiveSession, SlotEvent } from '../live.ts';
import {
  coolDown,
  endUnasked,
  jittered,
  recordRecoveries,
  refuseOrders,
} from '../recovery/ladder-rows.ts';
import type { Recovery, Rungs } from '../recovery/ladder-rows.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';
import { orderedText } from '../../preconditions.ts';

export const statements = {
  backOff: statement({
    name: 'work-back-off',
    params: {
      machines: 'uuid[]',
      processes: 'process[]',
      waits: 'float8[]',
      causes: 'text[]',
      seconds: 'int8[]',
      unreachable: 'bool[]',
    },
    columns: {},
    text: ({ machines, processes, waits, causes, seconds, unreachable }) =>
      `INSERT INTO work_backoff AS b
         (machine_id, process, until, cause, last_interval_seconds, unreachable_since)
       SELECT e.machine_id, e.process, now() + e.wait * interval '1 second', e.cause, e.seconds,
         CASE WHEN e.unreachable THEN now() END
       FROM unnest(${machines}, ${processes}, ${waits}, ${causes}, ${seconds}, ${unreachable})
         AS e (machine_id, process, wait, cause, seconds, unreachable) ORDER BY 1
       ON CONFLICT (machine_id, process) DO UPDATE SET until = excluded.until,
         cause = excluded.cause, last_interval_seconds = excluded.last_interval_seconds,
         unreachable_since = CASE WHEN excluded.unreachable_since IS NOT NULL
           THEN coalesce(b.unreachable_since, excluded.unreachable_since) END`,
  }),
  countAttempts: statement({
    name: 'agent-start-count',
    params: { machines: 'uuid[]', unreached: 'bool[]' },
    columns: {},
    text: ({ machines, unreached }) =>
      `INSERT INTO machine_agent_start_attempt AS t (machine_id, attempted_at, count, unreached)
       SELECT e.machine_id, NULL, 1, e.unreached::int
       FROM unnest(${machines}, ${unreached}) AS e (machine_id, unreached) ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET count = t.count + 1,
         unreached = t.unreached + excluded.unreached`,
  }),
  quarantine: statement({
    name: 'machines-quarantine',
    params: { machines: 'uuid[]', kinds: 'quarantine_kind[]', reasons: 'text[]', by: 'text' },
    columns: {},
    text: ({ machines, kinds, reasons, by }) =>
      `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
       SELECT e.machine_id, e.kind, e.reason, ${by}
       FROM unnest(${machines}, ${kinds}, ${reasons}) AS e (machine_id, kind, reason) ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
         until = NULL, set_by = excluded.set_by
         WHERE machine_quarantined.kind <> 'byOperator' OR machine_quarantined.until <= now()`,
  }),
};

/** What finished tasks make true, in the transaction that ends them. */
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
  return recordRecoveries(q, session, recovered);
}

/** What failed tasks make true, in the transaction that ends them. */
export async function recordFailures(
  q: Queries,
  session: LiveSession,
  failed: readonly Failure[],
): Promise<void> {
  if (failed.length === 0) return;
  // What was ordered moves neither the ladder nor its waits.
  const [ordered, own] = parted(failed, ({ also }) => also.order !== undefined);
  await backOff(q, session, own);
  const starts = own.filter(({ held }) => held.process === 'ShepherdAgentStart');
  if (starts.length > 0) {
    await q.run(statements.countAttempts, {
      machines: starts.map(({ held }) => held.machineId),
      unreached: starts.map(({ also }) => also.unreached ?? false),
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
  failed: readonly Failure[],
): Promise<void> {
  if (failed.length === 0) return;
  const seconds = failed.map(({ held, backoff }) => {
    return nextBackoffSeconds(backoff, previousWaitSeconds(held.row, held.process));
  });
  await q.run(statements.backOff, {
    machines: failed.map(({ held }) => held.machineId),
    processes: failed.map(({ held }) => held.process),
    waits: seconds.map((each) => jittered(session, each)),
    causes: failed.map(({ cause }) => cause),
    seconds,
    unreachable: failed.map(({ also }) => also.unreachable ?? false),
  });
}

/** Parks machines that no operator has parked meanwhile. */
async function quarantine(
  q: Queries,
  session: LiveSession,
  failed: readonly Failure[],
): Promise<void> {
  const parked = failed.flatMap(({ held, also: { quarantine: how } }) =>
    how ? [{ id: held.machineId, ...how }] : [],
  );
  if (parked.length === 0) return;
  const machines = parked.map(({ id }) => id);
  await q.run(statements.quarantine, {
    machines,
    kinds: parked.map(({ kind }) => kind),
    reasons: parked.map(({ reason }) => reason),
    by: session.component,
  });
  await q.run(tags.returnPermits, { machines });
}

/** Lines for the slot's log; of machines that were given back, while there is a slot to write them for. */
export function finishEvents({ held, change }: Finish, rungs: Rungs): SlotEvent[] {
  if (change.kind !== 'recovered') return [];
  const { machineId, row } = held;
  const reason = orderedText(rungs.get(machineId) ?? '', row, change.order ?? null);
  return [{ machineId, kind: 'recovered', reason }];
}

/** Lines for the slot's log. */
export function failureEvents({ held, cause, also }: Failure): SlotEvent[] {
  const { machineId, process } = held;
  const { quarantine: how } = also;
  const failed = { machineId, kind: 'workFailed', reason: `${process}: ${cause}` };
  if (!how) return [failed];
  return [failed, { machineId, kind: 'quarantined', reason: `${how.kind}: ${how.reason}` }];
}
