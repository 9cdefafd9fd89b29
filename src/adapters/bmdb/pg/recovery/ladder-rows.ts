import { nextBackoffSeconds } from '../../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../../domain/backoff.ts';
import { isLadder } from '../../../../domain/eligibility.ts';
import { BOOT_TIMES_KEPT } from '../../../../domain/policy.ts';
import { failedText } from '../../../../domain/requests.ts';
import type { FailedEnding, HeldClaim } from '../claims/held-claim.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { endRequests } from '../requests/request-ends.ts';
import { named, statement } from '../statement.ts';
import { COUNT_EPISODES } from './episodes.ts';
import type { FinishChange } from '../../port.ts';
import { provedText } from '../../../../domain/request-outcome.ts';

export const statements = named('ladders', {
  /** Locks in machine order. */
  lock: statement({
    params: { machines: 'uuid[]' },
    columns: {
      machine_id: 'uuid',
      rung: 'recovery_rung',
      asked_rung: 'recovery_rung?',
      cool_down_seconds: 'int8?',
      order_key: 'text?',
    },
    text: ({ machines }) =>
      `SELECT machine_id, rung, asked_rung, cool_down_seconds, order_key FROM machine_recovery
       WHERE machine_id = ANY (${machines}) ORDER BY machine_id FOR UPDATE`,
  }),
  coolDown: statement({
    params: { waits: { machineId: 'uuid', wait: 'float8', seconds: 'int8' } },
    text: ({ waits }) =>
      `UPDATE machine_recovery l SET next_at = now() + waits.wait * interval '1 second',
         cool_down_seconds = waits.seconds
       FROM ${waits} WHERE l.machine_id = waits.machine_id`,
  }),
  /** The requested effect was observed. */
  prove: statement({
    params: { machines: 'uuid[]' },
    text: ({ machines }) =>
      `UPDATE machine_recovery SET asked_at = NULL, asked_rung = NULL, order_key = NULL,
         operation_ref = NULL, boot_id_before = NULL, host_key_before = NULL, off_seen_at = NULL,
         power_off_asked_at = CASE WHEN asked_rung = 'powerCycling' THEN NULL
           ELSE power_off_asked_at END
       WHERE machine_id = ANY (${machines})`,
  }),
  /** The machines must be locked through their ladder rows. */
  addBootTimes: statement({
    name: 'boot-times-add',
    params: { boots: { machineId: 'uuid', seconds: 'int8' } },
    text: ({ boots }) => `
      INSERT INTO machine_boot_times AS t (machine_id, reboot_seconds, reinstall_seconds)
      SELECT l.machine_id,
        CASE WHEN l.asked_rung <> 'reinstalling' THEN ARRAY[boots.seconds] ELSE '{}' END,
        CASE WHEN l.asked_rung = 'reinstalling' THEN ARRAY[boots.seconds] ELSE '{}' END
      FROM ${boots} JOIN machine_recovery l ON l.machine_id = boots.machine_id
      WHERE l.asked_rung IS NOT NULL ORDER BY 1
      ON CONFLICT (machine_id) DO UPDATE SET
        reboot_seconds = (excluded.reboot_seconds || t.reboot_seconds)[1:${BOOT_TIMES_KEPT}],
        reinstall_seconds =
          (excluded.reinstall_seconds || t.reinstall_seconds)[1:${BOOT_TIMES_KEPT}]`,
  }),
  /** Counts attempts that failed before any request was made. */
  count: statement({
    params: { failed: { machineId: 'uuid', rung: 'recovery_rung' } },
    text: ({ failed }) =>
      `WITH ladders AS (
         INSERT INTO machine_recovery AS l (machine_id, rung, attempts)
         SELECT machine_id, rung, 1 FROM ${failed} ORDER BY 1
         ON CONFLICT (machine_id) DO UPDATE SET rung = excluded.rung,
           attempts = CASE WHEN l.rung = excluded.rung THEN l.attempts + 1 ELSE 1 END
         RETURNING l.machine_id, l.rung, l.attempts
       ) ${COUNT_EPISODES}`,
  }),
});

type Recovered = Extract<FinishChange, { kind: 'recovered' }>;
export interface Recovery {
  readonly held: HeldClaim;
  readonly change: Recovered;
}
/** Last rung of each machine. */
export type Rungs = ReadonlyMap<string, string>;

/** Ends successful attempts, in the transaction that ends the work. */
export async function recordRecoveries(
  q: Queries,
  session: LiveSession,
  recovered: readonly Recovery[],
): Promise<Rungs> {
  const own = recovered.filter(({ change }) => change.order === undefined);
  await coolDown(
    q,
    session,
    own.map(({ held, change }) => ({ held, descriptor: change.coolDown })),
  );
  const ladder = recovered.filter(({ held }) => isLadder(held.process));
  if (ladder.length === 0) return new Map();
  const machines = ladder.map(({ held }) => held.machineId);
  const rows = await q.rows(statements.lock, { machines });
  const booted = ladder.filter(({ change }) => change.bootSeconds !== null);
  if (booted.length > 0) {
    await q.run(statements.addBootTimes, {
      boots: booted.map(({ held, change }) => ({
        machineId: held.machineId,
        seconds: Math.max(0, Math.round(change.bootSeconds!)),
      })),
    });
  }
  await q.run(statements.prove, { machines });
  const rungs = new Map(rows.map((row) => [row.machine_id, row.asked_rung ?? row.rung]));
  await endRequests(
    q,
    session.sessionId,
    ladder.flatMap(({ held, change: { order } }) => {
      const outcome = provedText(rungs.get(held.machineId) ?? null);
      return order === undefined
        ? []
        : [{ key: order, state: 'done' as const, outcome, event: null }];
    }),
  );
  return rungs;
}

/** Ends failed attempts that an operator ordered. */
export async function refuseOrders(
  q: Queries,
  session: LiveSession,
  failed: readonly FailedEnding[],
): Promise<void> {
  if (failed.length === 0) return;
  const machines = failed.map(({ held }) => held.machineId);
  const asked = new Map(
    (await q.rows(statements.lock, { machines })).map((row) => [row.machine_id, row.order_key]),
  );
  const ends = failed.map(({ held, cause, also }) => {
    const outcome = failedText(cause, asked.get(held.machineId) === also.order);
    return { key: also.order!, state: 'refused' as const, outcome, event: null };
  });
  await endRequests(q, session.sessionId, ends);
}

/** Of failures before any request was made, some count as an attempt. */
export async function endUnasked(q: Queries, failed: readonly FailedEnding[]): Promise<void> {
  const unasked = failed.filter(({ held, also }) => isLadder(held.process) && also.unasked);
  const counted = unasked.flatMap(({ held, also }) => {
    const rung = also.unasked!.countsOn;
    return rung === null ? [] : [{ machineId: held.machineId, rung }];
  });
  if (counted.length > 0) await q.run(statements.count, { failed: counted });
}

interface CoolDown {
  readonly held: HeldClaim;
  readonly descriptor: BackoffDescriptor;
}

/**
 * Starts the cool-down, which grows over the whole episode; no rung starts before it ends. There is
 * no cool-down before the first request.
 */
export async function coolDown(
  q: Queries,
  session: LiveSession,
  wanted: readonly CoolDown[],
): Promise<void> {
  const ladder = wanted.filter(({ held }) => isLadder(held.process));
  if (ladder.length === 0) return;
  const machines = ladder.map(({ held }) => held.machineId);
  const descriptors = new Map<string, BackoffDescriptor>(
    ladder.map(({ held, descriptor }) => [held.machineId, descriptor]),
  );
  const rows = await q.rows(statements.lock, { machines });
  if (rows.length === 0) return;
  const waits = rows.map((row) => {
    const previous = row.cool_down_seconds === null ? null : Number(row.cool_down_seconds);
    const seconds = nextBackoffSeconds(descriptors.get(row.machine_id)!, previous);
    return { machineId: row.machine_id, seconds, wait: jittered(session, seconds) };
  });
  await q.run(statements.coolDown, { waits });
}

/** A wait, lengthened at random. */
export const jittered = ({ random, jitter }: LiveSession, seconds: number): number =>
  seconds * (1 + random.next() * jitter);
