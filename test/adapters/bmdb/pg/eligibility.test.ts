import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BmdbSnapshot } from '../../../../src/adapters/bmdb/port.ts';
import {
  askRefusalSql,
  DONE,
  FAILED,
  FROM,
  heartbeatingSql,
  ineligibilitySql,
  isAgentSql,
  PENDING,
  refusalSql,
} from '../../../../src/adapters/bmdb/pg/eligibility.ts';
import { queriesOf } from '../../../../src/adapters/bmdb/pg/pool.ts';
import type { Queries } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { readAllMachines, readSnapshot } from '../../../../src/adapters/bmdb/pg/rows.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import {
  readCandidates,
  readStatistics,
  statementsFor,
} from '../../../../src/adapters/bmdb/pg/statistics.ts';
import {
  askRefusal,
  ineligibility,
  installState,
  isAgentOf,
  isHeartbeating,
  isInstallationDue,
  refusal,
} from '../../../../src/domain/eligibility.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import type { MachineRow } from '../../../../src/domain/machine.ts';
import { PROCESSES } from '../../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { candidatesOf, statisticsOf } from '../../../../src/domain/statistics.ts';
import { KEY, KEY_HEX } from '../../../contracts/bmdb-rows.ts';
import { casesAround, NEWER_VALUES, store } from './eligibility-cases.ts';
import { insertMachine, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
  for (const [type, value] of Object.entries(NEWER_VALUES)) {
    await server.sql.query(`ALTER TYPE ${type} ADD VALUE '${value}'`);
  }
});
afterAll(() => server.stop());

/** Runs in one transaction, so that `now()` stands still, and leaves nothing behind. */
async function inOneMoment<T>(run: (q: Queries, client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await server.sql.connect();
  try {
    await client.query('BEGIN');
    return await run(queriesOf(client, { doing: 'compare' }), client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/** What both sides say, for every machine. */
async function compareRefusals(
  q: Queries,
  process: (typeof PROCESSES)[number],
  snapshot: BmdbSnapshot,
): Promise<string[]> {
  const probe = statement({
    name: `compare-${process}`,
    params: {},
    columns: { id: 'uuid', refusal: 'text?', ineligible: 'text?', ask: 'text?' },
    text: () => `SELECT m.machine_id AS id, ${refusalSql(process, DEFAULT_LOSS)} AS refusal,
      ${ineligibilitySql(process, DEFAULT_LOSS)} AS ineligible,
      ${askRefusalSql(process, DEFAULT_LOSS)} AS ask ${FROM}`,
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

const anyCases = (run: (q: Queries, snapshot: BmdbSnapshot) => Promise<void>) =>
  fc.asyncProperty(casesAround(Date.now()), async (cases) => {
    await inOneMoment(async (q, client) => {
      await store(client, cases);
      await run(q, await readSnapshot(q));
    });
  });

describe('eligibility in SQL', () => {
  it('says the same as the pure functions, for any rows', async () => {
    const seen = new Map<string, number>();
    await fc.assert(
      anyCases(async (q, snapshot) => {
        for (const process of PROCESSES) {
          for (const said of await compareRefusals(q, process, snapshot)) {
            seen.set(said, (seen.get(said) ?? 0) + 1);
          }
        }
      }),
      { numRuns: 10, endOnFailure: true },
    );
    // Every reason, and none, must have been met, else the comparison proves little.
    expect([...seen.keys()].toSorted()).toEqual([
      'a hold forbids it',
      'it cannot be read',
      'it cools down after an attempt',
      'it has no hardware',
      'it is being worked on',
      'it is not lost',
      'it is quarantined',
      'it is to be deprovisioned',
      'it waits after a failure',
      'it was handed over',
      'its agent is started',
      'its agent start is not given up',
      'its provider status does not allow it',
      'nobody asked to deprovision it',
      'null',
    ]);
  });

  it('knows the agent by its key, a due installation, and a heartbeat, for any rows', async () => {
    const probe = statement({
      name: 'compare-states',
      params: { key: 'bytea' },
      columns: {
        ...{ id: 'uuid', agent: 'bool', beats: 'bool' },
        ...{ pending: 'bool', done: 'bool', failed: 'bool' },
      },
      text: ({ key }) => `SELECT m.machine_id AS id, ${isAgentSql(key)} AS agent,
        ${heartbeatingSql(DEFAULT_LOSS)} AS beats, ${PENDING} AS pending, ${DONE} AS done,
        ${FAILED} AS failed ${FROM}`,
    });
    const seen = new Set<string>();
    await fc.assert(
      anyCases(async (q, { machines, nowMs }) => {
        const inSql = new Map((await q.rows(probe, { key: KEY })).map((row) => [row.id, row]));
        for (const row of machines) {
          const expected = {
            id: row.machineId,
            agent: isAgentOf(row, KEY_HEX),
            beats: isHeartbeating(row, nowMs, DEFAULT_LOSS),
            pending: isInstallationDue(row),
            done: installState(row) === 'DONE',
            failed: installState(row) === 'FAILED',
          };
          expect(inSql.get(row.machineId)).toEqual(expected);
          for (const [name, value] of Object.entries(expected)) seen.add(`${name} ${value}`);
        }
      }),
      { numRuns: 3, endOnFailure: true },
    );
    for (const name of ['agent', 'beats', 'pending', 'done', 'failed']) {
      expect(seen).toContain(`${name} true`);
      expect(seen).toContain(`${name} false`);
    }
  });

  it('counts and chooses as the pure functions do, for any rows', async () => {
    const statements = statementsFor(DEFAULT_LOSS);
    const met = { statistics: 0, candidates: 0 };
    await fc.assert(
      anyCases(async (q, snapshot) => {
        const now = { ...snapshot, loss: DEFAULT_LOSS };
        const expected = statisticsOf(snapshot.machines, now);
        expect(await readStatistics(q, statements)).toEqual(expected);
        met.statistics += expected.fleet.pendingRecovery + expected.fleet.heartbeating;
        for (const process of PROCESSES) {
          for (const provider of [undefined, providerName('metal')]) {
            const wanted = { process, limit: 7, ...(provider ? { provider } : {}) };
            const chosen = candidatesOf(snapshot.machines, wanted, now);
            expect(await readCandidates(q, statements, wanted)).toEqual(chosen);
            met.candidates += chosen.length;
          }
        }
      }),
      { numRuns: 5, endOnFailure: true },
    );
    expect(met.statistics).toBeGreaterThan(5);
    expect(met.candidates).toBeGreaterThan(50);
  });

  it('rests on rows that are read as they were written', async () => {
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
