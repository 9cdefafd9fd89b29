import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BmdbSnapshot } from '../../../../src/adapters/bmdb/port.ts';
import {
  DONE,
  FAILED,
  FROM,
  handOutRefusalSql,
  heartbeatingSql,
  PENDING,
  ruleSql,
} from '../../../../src/adapters/bmdb/pg/eligibility.ts';
import type { Queries } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { readAllMachines, readSnapshot } from '../../../../src/adapters/bmdb/pg/reading/rows.ts';
import {
  isHeardAgainSql,
  silentSinceSql,
  STATE_AFTER,
  STATE_BEFORE,
} from '../../../../src/adapters/bmdb/pg/guard/silences.ts';
import { ms } from '../../../../src/adapters/bmdb/pg/sql.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import {
  readStatistics,
  statementsFor,
} from '../../../../src/adapters/bmdb/pg/reading/statistics.ts';
import {
  askRefusal,
  ineligibility,
  installState,
  isHeartbeating,
  handOutRefusal,
  isInstallationDue,
  PROCESS_FOR,
  refusal,
} from '../../../../src/domain/eligibility.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { PROCESSES } from '../../../../src/domain/machine.ts';
import { ORDER_VERBS } from '../../../../src/domain/verbs.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import {
  fellSilent,
  heardAgain,
  isHeardAgain,
  silentSinceMs,
} from '../../../doubles/mem-bmdb/silence.ts';
import { statisticsOf } from '../../../doubles/mem-bmdb/statistics.ts';
import { casesAround, store } from './eligibility-cases.ts';
import type { EligibilityCase } from './eligibility-cases.ts';
import { momentStand } from './moment-stand.ts';
import { insertMachine } from './pg-harness.ts';

const inOneMoment = momentStand();

/** The answers of both sides, for every machine. */
async function compareRefusals(
  q: Queries,
  process: (typeof PROCESSES)[number],
  snapshot: BmdbSnapshot,
): Promise<string[]> {
  const probe = statement({
    name: `compare-${process}`,
    columns: { id: 'uuid', refusal: 'text?', ineligible: 'text?', ask: 'text?' },
    text: () => `SELECT m.machine_id AS id, ${ruleSql('refusal', process, DEFAULT_LOSS)} AS refusal,
      ${ruleSql('ineligibility', process, DEFAULT_LOSS)} AS ineligible,
      ${ruleSql('ask', process, DEFAULT_LOSS)} AS ask ${FROM}`,
  });
  const inSql = new Map((await q.rows(probe, {})).map((row) => [row.id, row]));
  const now = { ...snapshot, loss: DEFAULT_LOSS };
  return snapshot.machines.map((row) => {
    const { id: _, ...said } = inSql.get(row.machineId)!;
    const expected = {
      refusal: refusal(process, row, now),
      ineligible: ineligibility(process, row, now),
      ask: askRefusal(process, row, now),
    };
    expect({ process, row, ...said }).toEqual({ process, row, ...expected });
    return String(expected.refusal);
  });
}

/** Answers about machines with an order, and the facts that would have blocked them. */
function* orderedOf({ machines, holds, nowMs }: BmdbSnapshot): Generator<string> {
  const now = { holds, nowMs, loss: DEFAULT_LOSS };
  for (const row of machines) {
    if (!row.order) continue;
    const process = PROCESS_FOR[row.order.verb];
    const said = String(refusal(process, row, now));
    yield said;
    if (said === 'it still serves') continue;
    const plain = refusal(process, { ...row, order: null }, now);
    if (plain === 'it waits after a failure') yield `${said}, waits`;
    if (plain === 'it cools down after an attempt') yield `${said}, cools down`;
    if (plain === 'it is not lost' || plain === 'its agent start is not given up') {
      yield `${said}, not lost`;
    }
  }
}

/** Orders in the row must be returned, if a process can use them. */
function orderOf({ row, request }: EligibilityCase): MachineRow['order'] {
  const isOurs = request?.elsewhere === null && row.provided !== null;
  const verb = ORDER_VERBS.find((each) => each === request?.verb);
  if (!isOurs || !verb || request.state !== 'open' || request.expiresAtMs <= Date.now())
    return null;
  const { key, force, drain, expiresAtMs } = request;
  return { key, verb, force, drain, expiresAtMs, by: 'ann', reason: 'x' };
}

const anyCases = (
  run: (q: Queries, snapshot: BmdbSnapshot, cases: readonly EligibilityCase[]) => Promise<void>,
) =>
  fc.asyncProperty(casesAround(Date.now()), async (cases) => {
    await inOneMoment(async (q, client) => {
      await store(client, cases);
      await run(q, await readSnapshot(q), cases);
    });
  });

describe('eligibility in SQL', () => {
  it('equals the pure functions for random rows', async () => {
    const seen = new Map<string, number>();
    const ordered = new Set<string>();
    await fc.assert(
      anyCases(async (q, snapshot, cases) => {
        const orders = new Map(cases.map((each) => [each.row.machineId, orderOf(each)]));
        for (const { machineId, order } of snapshot.machines) {
          expect(order).toEqual(orders.get(machineId));
        }
        for (const said of orderedOf(snapshot)) ordered.add(said);
        for (const process of PROCESSES) {
          for (const said of await compareRefusals(q, process, snapshot)) {
            seen.set(said, (seen.get(said) ?? 0) + 1);
          }
        }
      }),
      { numRuns: 10, endOnFailure: true },
    );
    // So must the facts that an order overrides, and those that it does not.
    expect([...ordered].toSorted()).toEqual([
      'a hold forbids it',
      'a newer program recovers it',
      'it cannot be read',
      'it is being worked on',
      'it is quarantined',
      'it is to be deprovisioned',
      'it still serves',
      'it was handed over',
      'its provider status does not allow it',
      'null',
      'null, cools down',
      'null, not lost',
      'null, waits',
    ]);
    // Every reason, and none, must have occurred, or the comparison proves little.
    expect([...seen.keys()].toSorted()).toEqual([
      'a hold forbids it',
      'a newer program recovers it',
      'it cannot be read',
      'it cools down after an attempt',
      'it has no hardware',
      'it is being worked on',
      'it is not lost',
      'it is quarantined',
      'it is to be deprovisioned',
      'it still serves',
      'it waits after a failure',
      'it was handed over',
      'its agent is started',
      'its agent start is not given up',
      'its provider status does not allow it',
      'nobody asked to deprovision it',
      'null',
    ]);
  });

  it('finds due installations and heartbeats for random rows', async () => {
    const probe = statement({
      name: 'compare-states',
      columns: {
        id: 'uuid',
        beats: 'bool',
        pending: 'bool',
        done: 'bool',
        failed: 'bool',
        withheld: 'text?',
      },
      text: () => `SELECT m.machine_id AS id, ${heartbeatingSql(DEFAULT_LOSS)} AS beats, ${PENDING} AS pending, ${DONE} AS done,
        ${FAILED} AS failed, ${handOutRefusalSql()} AS withheld ${FROM}`,
    });
    const seen = new Set<string>();
    await fc.assert(
      anyCases(async (q, { machines, holds, nowMs }) => {
        const inSql = new Map((await q.rows(probe, {})).map((row) => [row.id, row]));
        for (const row of machines) {
          const found = inSql.get(row.machineId)!;
          // A quarantine of an unknown kind counts in the database only.
          const isReadable = row.unreadable === undefined;
          const expected = {
            id: row.machineId,
            beats: isHeartbeating(row, nowMs, DEFAULT_LOSS),
            pending: isInstallationDue(row),
            done: installState(row) === 'DONE',
            failed: installState(row) === 'FAILED',
            withheld: isReadable ? handOutRefusal(row, { holds, nowMs }) : found.withheld,
          };
          expect(found).toEqual(expected);
          for (const [name, value] of Object.entries(expected)) seen.add(`${name} ${value}`);
        }
      }),
      { numRuns: 3, endOnFailure: true },
    );
    for (const name of ['beats', 'pending', 'done', 'failed']) {
      expect(seen).toContain(`${name} true`);
      expect(seen).toContain(`${name} false`);
    }
    for (const why of ['null', 'it is quarantined', 'a hold forbids it', 'it still serves']) {
      expect(seen).toContain(`withheld ${why}`);
    }
  });

  it('counts like the pure functions for random rows', async () => {
    const statements = statementsFor(DEFAULT_LOSS);
    let met = 0;
    await fc.assert(
      anyCases(async (q, snapshot) => {
        const now = { ...snapshot, loss: DEFAULT_LOSS };
        const expected = statisticsOf(snapshot.machines, now);
        expect(await readStatistics(q, statements)).toEqual(expected);
        met += expected.fleet.pendingRecovery + expected.fleet.heartbeating;
      }),
      { numRuns: 5, endOnFailure: true },
    );
    expect(met).toBeGreaterThan(5);
  });

  it('reads rows as they were written', async () => {
    await fc.assert(
      fc.asyncProperty(casesAround(Date.now()), async (cases) => {
        await inOneMoment(async (q, client) => {
          for (const { row } of cases) await insertMachine(client, row);
          const read = await readAllMachines(q);
          const sorted = (rows: readonly MachineRow[]) =>
            rows
              .map((row) => ({
                ...row,
                backoffs: row.backoffs.toSorted((a, b) => a.process.localeCompare(b.process)),
              }))
              .toSorted((a, b) => a.machineId.localeCompare(b.machineId));
          expect(sorted(read)).toEqual(sorted(cases.map((each) => each.row)));
        });
      }),
      { numRuns: 3, endOnFailure: true },
    );
  });
});

describe('silence in SQL', () => {
  it('A10: equals the pure functions for random rows', async () => {
    const probe = statement({
      name: 'compare-silences',
      columns: {
        id: 'uuid',
        since: 'float8?',
        again: 'bool',
        before: 'text',
        after: 'text',
        count: 'int8?',
      },
      text: () => `SELECT m.machine_id AS id, ${ms(silentSinceSql(DEFAULT_LOSS))} AS since,
        coalesce(${isHeardAgainSql(DEFAULT_LOSS)}, false) AS again, ${STATE_BEFORE} AS before,
        ${STATE_AFTER} AS after, h.unbroken_count AS count ${FROM}`,
    });
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(casesAround(Date.now()), (cases) =>
        inOneMoment(async (q, client) => {
          await store(client, cases);
          await client.query(`UPDATE machine_agent_heartbeat SET unbroken_count =
            1 + ('x' || left(machine_id::text, 1))::bit(4)::int % 5`);
          const { machines, nowMs } = await readSnapshot(q);
          const moment = { nowMs, loss: DEFAULT_LOSS };
          const inSql = new Map((await q.rows(probe, {})).map((row) => [row.id, row]));
          for (const row of machines.filter(({ unreadable }) => unreadable === undefined)) {
            const { count, ...said } = inSql.get(row.machineId)!;
            const unbroken = { sinceMs: 0, count: Number(count ?? 0) };
            const expected = {
              id: row.machineId,
              since: silentSinceMs(row, moment),
              again: isHeardAgain({ row, unbroken }, moment),
              before: fellSilent(row).from,
              after: heardAgain(row, nowMs).to,
            };
            expect({ row, ...said }).toEqual({ row, ...expected });
            seen.add(`silent: ${expected.since !== null}`).add(`again: ${expected.again}`);
            seen.add(`before: ${expected.before}`).add(`after: ${expected.after}`);
          }
        }),
      ),
      { numRuns: 5, endOnFailure: true },
    );
    expect([...seen]).toEqual(
      expect.arrayContaining([
        ...['silent: true', 'silent: false', 'again: true', 'again: false'],
        ...['before: Running · healthy', 'before: Running · awaitingHeartbeat'],
        ...['before: Running · installingOs', 'after: Quarantined · missing'],
        ...['after: Deprovisioning', 'after: HandedOver · installed'],
      ]),
    );
  });
});
