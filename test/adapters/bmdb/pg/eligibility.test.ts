import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FROM, refusalSql } from '../../../../src/adapters/bmdb/pg/eligibility.ts';
import type { Queries } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { readMachines, readSnapshot } from '../../../../src/adapters/bmdb/pg/rows.ts';
import { refusal } from '../../../../src/domain/eligibility.ts';
import { machineId, providerName } from '../../../../src/domain/ids.ts';
import type { HoldKind, MachineRow } from '../../../../src/domain/machine.ts';
import { PROCESSES, PROVIDER_STATUSES } from '../../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { KEY_HEX } from '../../../contracts/bmdb-rows.ts';
import { insertMachine, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
});
afterAll(() => server.stop());

const HOLDS: readonly HoldKind[] = ['no-start', 'no-recover', 'no-allocate', 'preserve'];

/** Minutes around the limits that matter, so that both sides of each are met often. */
const timeAround = (nowMs: number) =>
  fc
    .tuple(
      fc.constantFrom(-50, -41, -31, -29, -20, -11, -9, -2, 0, 5),
      fc.integer({ min: 0, max: 40_000 }),
    )
    .map(([minutes, extraMs]) => nowMs + minutes * 60_000 - extraMs - 1_000);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 2 });
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

function rowAround(nowMs: number): fc.Arbitrary<MachineRow> {
  const time = timeAround(nowMs);
  const future = fc.integer({ min: 60_000, max: 600_000 }).map((ms) => nowMs + ms);
  const anyTime = fc.oneof(time, future);
  const generation = fc.bigInt({ min: 1n, max: 3n });
  return fc.record({
    machineId: fc.uuid().map(machineId),
    createdAtMs: time,
    provided: fc.oneof(
      { weight: 1, arbitrary: fc.constant(null) },
      {
        weight: 9,
        arbitrary: fc.record({
          provider: fc.constantFrom('metal', 'static').map(providerName),
          providerId: fc.uuid(),
          reservationId: maybe(fc.uuid()),
          address: maybe(fc.constant('127.0.0.1:22')),
          location: maybe(fc.constant('ny')),
          status: fc.oneof(
            fc.constantFrom(null, 'Running' as const),
            fc.constantFrom(...PROVIDER_STATUSES),
          ),
        }),
      },
    ),
    agentStarted: maybe(
      fc.record({ atMs: time, publicKey: fc.constant(KEY_HEX), bootId: maybe(fc.uuid()) }),
    ),
    heartbeat: maybe(fc.record({ atMs: time, bootId: maybe(fc.uuid()) })),
    installation: installations(time, generation),
    startAttempt: maybe(fc.record({ atMs: time, count: fc.integer({ min: 0, max: 8 }) })),
    recovery: maybe(
      fc.record({
        rung: fc.constantFrom('restartingAgent', 'rebooting', 'powerCycling', 'reinstalling'),
        attempts: fc.nat(5),
        askedAtMs: maybe(time),
        operationRef: maybe(fc.uuid()),
        // Few rows are lost and may be asked: only those show this wait, so most have one.
        nextAtMs: maybe(fc.oneof({ weight: 4, arbitrary: future }, { weight: 1, arbitrary: time })),
      }),
    ),
    permit: fc.constant(false),
    quarantine: seldom(
      fc.record({
        kind: fc.constantFrom('needsHuman', 'conflict', 'byOperator'),
        reason: fc.constant('x'),
        untilMs: maybe(anyTime),
      }),
    ),
    deprovisionRequestedAtMs: seldom(time),
    hostKey: maybe(fc.constant('key')),
    work: fc.constant([]),
    backoffs: fc.uniqueArray(fc.constantFrom(...PROCESSES), { maxLength: 2 }).chain((processes) =>
      fc.tuple(
        ...processes.map((process) =>
          fc.record({
            process: fc.constant(process),
            untilMs: anyTime,
            cause: fc.constant('x'),
            lastIntervalSeconds: maybe(fc.nat(1000)),
          }),
        ),
      ),
    ),
  });
}

function installations(time: fc.Arbitrary<number>, generation: fc.Arbitrary<bigint>) {
  const none = { requestGeneration: null, handedOutAtMs: null };
  const request = fc.record({ requestGeneration: generation, handedOutAtMs: maybe(time) });
  const unreported = { reportGeneration: null, reportResult: null };
  const report = fc.record({
    reportGeneration: generation,
    reportResult: fc.constantFrom('Success' as const, 'Error' as const),
  });
  return fc
    .tuple(fc.oneof(fc.constant(none), request), fc.oneof(fc.constant(unreported), report))
    .map(([asked, answered]) => ({ ...asked, ...answered }));
}

interface Case {
  readonly row: MachineRow;
  readonly hold: { kind: HoldKind; untilMs: number | null } | null;
  /** A process somebody works on, and whether their session lives. */
  readonly work: { process: (typeof PROCESSES)[number]; alive: boolean } | null;
}
const casesAround = (nowMs: number): fc.Arbitrary<Case[]> =>
  fc.array(
    fc.record({
      row: rowAround(nowMs),
      hold: seldom(
        fc.record({
          kind: fc.constantFrom(...HOLDS),
          untilMs: maybe(fc.constantFrom(nowMs - 60_000, nowMs + 600_000)),
        }),
      ),
      work: seldom(fc.record({ process: fc.constantFrom(...PROCESSES), alive: fc.boolean() })),
    }),
    { minLength: 60, maxLength: 60 },
  );

const LIVE = '00000000-0000-4000-8000-00000000000a';
const DEAD = '00000000-0000-4000-8000-00000000000b';

async function store(client: pg.PoolClient, cases: readonly Case[]): Promise<void> {
  await client.query(
    `INSERT INTO sessions (session_id, session_component_name, session_runtime_info,
       session_interval_seconds, session_deadline)
     VALUES ('${LIVE}', 'test', 'x', 5, now() + interval '1 h'),
       ('${DEAD}', 'test', 'x', 5, now())`,
  );
  for (const { row, hold, work } of cases) {
    await insertMachine(client, row);
    if (hold && row.provided) {
      const { provider, reservationId, providerId } = row.provided;
      await client.query(
        `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason, until)
         VALUES ($1, $2, $3, 'test', 'x', to_timestamp($4::float8 / 1000))`,
        [provider, reservationId ?? providerId, hold.kind, hold.untilMs],
      );
    }
    if (work) {
      await client.query(
        `INSERT INTO work (machine_id, session_id, process, exclusion_group)
         VALUES ($1, $2, $3, 'test')`,
        [row.machineId, work.alive ? LIVE : DEAD, work.process],
      );
    }
  }
}

/** Runs in one transaction, so that `now()` stands still, and leaves nothing behind. */
async function inOneMoment<T>(run: (q: Queries, client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await server.sql.connect();
  try {
    await client.query('BEGIN');
    return await run(
      {
        rows: async <Row>(sql: string, values: readonly unknown[] = []) =>
          (await client.query(sql, [...values])).rows as Row[],
        run: async (sql, values = []) => (await client.query(sql, [...values])).rowCount ?? 0,
      },
      client,
    );
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

describe('eligibility in SQL', () => {
  it('says the same as the pure functions, for any rows', async () => {
    const seen = new Map<string, number>();
    const nowMs = Date.now();
    await fc.assert(
      fc.asyncProperty(casesAround(nowMs), async (cases) => {
        await inOneMoment(async (q, client) => {
          await store(client, cases);
          const snapshot = await readSnapshot(q);
          for (const process of PROCESSES) {
            const rows = await q.rows<{ id: string; refusal: string | null }>(
              `SELECT m.machine_id AS id, ${refusalSql(process, DEFAULT_LOSS)} AS refusal ${FROM}`,
            );
            const inSql = new Map(rows.map((row) => [row.id, row.refusal]));
            const now = { ...snapshot, loss: DEFAULT_LOSS };
            for (const row of snapshot.machines) {
              const expected = refusal(process, row, now);
              expect({ process, row, refusal: inSql.get(row.machineId) }).toEqual({
                ...{ process, row, refusal: expected },
              });
              seen.set(String(expected), (seen.get(String(expected)) ?? 0) + 1);
            }
          }
        });
      }),
      { numRuns: 8 },
    );
    // Every reason, and none, must have been met, else the comparison proves little.
    expect([...seen.keys()].toSorted()).toEqual([
      'a hold forbids it',
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

  it('rests on rows that are read as they were written', async () => {
    await fc.assert(
      fc.asyncProperty(casesAround(Date.now()), async (cases) => {
        await inOneMoment(async (q, client) => {
          for (const { row } of cases) await insertMachine(client, row);
          const read = await readMachines(q, null);
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
      { numRuns: 3 },
    );
  });
});
