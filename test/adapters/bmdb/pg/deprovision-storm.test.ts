import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPgBmdb } from '../../../../src/adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb, BmdbSession } from '../../../../src/adapters/bmdb/port.ts';
import { createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { metricsTo } from '../../../../src/adapters/metrics/port.ts';
import { codeOf } from '../../../../src/domain/errors.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { KEY, machineRow, requestedAt, startedAt } from '../../../contracts/bmdb-rows.ts';
import { SIGNAL } from '../../../contracts/bmdb-stage.ts';
import { askToGiveBack } from '../../../contracts/requests-of.ts';
import { insertMachine, startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

/**
 * All writers of machine rows run while half of the machines are given back, in batches and one by
 * one. No two may deadlock. A deadlock would show as a repeated transaction, since at READ
 * COMMITTED nothing else causes a repetition.
 */
const MACHINES = 240;
/** Given back at once. */
const CHUNK = 8;
const LIMIT_MS = 900_000;
/** Possible reports about a machine that is being given back. */
const EXPECTED = new Set(['nothing-to-do', 'work-conflict', 'work-lost', 'not-found', 'no-permit']);

let server: PgServer;
beforeAll(async () => {
  server = await startPgServer();
  // Less than the lock timeout, so that a deadlock is not mistaken for a slow transaction.
  const role = new URL(server.url).username;
  await server.sql.query(`ALTER ROLE "${role}" SET deadlock_timeout = '10ms'`);
});
afterAll(() => server.stop());

interface Storm {
  readonly ids: readonly MachineId[];
  readonly daemons: readonly { readonly bmdb: Bmdb; readonly session: BmdbSession }[];
  readonly repeated: string[];
  /** Unexpected errors. */
  readonly odd: unknown[];
  /** Machines that are being given back: every writer competes for them for the first time. */
  focus: readonly MachineId[];
}

async function prepare(): Promise<Storm> {
  await server.clear();
  const repeated: string[] = [];
  const open = async () => {
    const bmdb = createPgBmdb({
      url: server.url,
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      loss: DEFAULT_LOSS,
      budget: DEFAULT_BUDGET,
      jitter: 0,
      // So long that no call is refused in a slow test: the server would find a deadlock first.
      timeoutMs: 240_000,
      metrics: metricsTo(({ name, labels: { processor } }) => {
        if (name === 'bmdb_transaction_retried') repeated.push(processor!);
      }),
    });
    const options = { component: 'shepherd', runtimeInfo: 'host test', intervalMs: 3_600_000 };
    return { bmdb, session: await bmdb.openSession(options) };
  };
  const ids: MachineId[] = [];
  for (let at = 0; at < MACHINES; at++) {
    const asked = at % 2 === 0 ? { deprovision: requestedAt(Date.now()) } : {};
    const row = machineRow(Date.now(), {
      ...startedAt(Date.now()),
      permit: at % 3 === 0,
      ...asked,
    });
    await insertMachine(server.sql, row);
    ids.push(row.machineId);
  }
  return { ids, daemons: [await open(), await open(), await open()], repeated, odd: [], focus: [] };
}

/** Records violations. */
async function expected(storm: Storm, call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!EXPECTED.has(codeOf(error))) storm.odd.push(error);
  }
}

/** Gives back the requested machines. The daemons share the work. */
async function giveBack(storm: Storm): Promise<void> {
  const asked = storm.ids.filter((_, at) => at % 2 === 0);
  const works = await Promise.all(
    asked.map((id, at) => storm.daemons[at % 2]!.session.claim('ShepherdDeprovision', id)),
  );
  await Promise.all(works.slice(0, 20).map((work) => work.note({ kind: 'deprovisionAsked' })));
  for (let at = 0; at < works.length; at += CHUNK) {
    const chunk = works.slice(at, at + CHUNK);
    storm.focus = chunk.map((work) => work.machineId);
    await Promise.all(chunk.map((work) => work.finish({ kind: 'deprovisioned' })));
  }
}

it(
  'gives machines back amid other work without restarts',
  async () => {
    const storm = await prepare();
    const { ids, daemons } = storm;
    const random = createSeededRandom(4);
    const bystanders = ids.filter((_, at) => at % 2 === 1);
    const some = (count: number) =>
      Array.from({ length: count }, () => {
        const from = random.next() < 0.5 ? bystanders : storm.focus;
        return from[Math.floor(random.next() * from.length)] ?? ids[0]!;
      });
    let over = false;
    const going = async (round: () => Promise<unknown>) => {
      let rounds = 0;
      while (!over) {
        await expected(storm, round());
        rounds += 1;
      }
      return rounds;
    };
    const record = (machineId: MachineId, at: number) => ({
      machineId,
      publicKey: KEY,
      bootId: `boot-${at % 3}`,
      ...(at % 4 === 0 ? { hardwareReport: new Uint8Array([at % 250]) } : {}),
    });
    const beats = ({ bmdb }: Storm['daemons'][number]) =>
      going(() => bmdb.heartbeats.recordHeartbeats(some(30).map(record)));
    const everybody = [
      beats(daemons[0]!),
      beats(daemons[1]!),
      going(async () => {
        const [id] = some(1);
        const status = random.next() < 0.5 ? 'Missing' : 'Running';
        await daemons[2]!.session.updateProvided(id!, { absent: status === 'Missing', status });
      }),
      going(async () => {
        const [id] = some(1);
        const work = await daemons[2]!.session.claim('UnitTest1', id!);
        await work.finish({ kind: 'nothing' });
      }),
      going(async () => {
        const works = some(8).map((id) => daemons[2]!.session.claim('UnitTest2', id));
        const got = (await Promise.allSettled(works)).flatMap((each) =>
          each.status === 'fulfilled' ? [each.value] : [],
        );
        const backoff = { initialMs: 1_000, exponent: 1, maximumMs: 0 };
        await Promise.allSettled(got.map((work) => work.fail(backoff, 'x')));
      }),
      going(() => daemons[0]!.bmdb.sweep()),
      going(() => daemons[1]!.bmdb.scan(SIGNAL)),
      going(() => askToGiveBack(daemons[2]!.bmdb, daemons[2]!.session, some(1)[0]!)),
    ];
    try {
      await giveBack(storm);
    } finally {
      over = true;
    }
    const rounds = await Promise.all(everybody);
    expect(storm.odd).toEqual([]);
    expect(storm.repeated).toEqual([]);
    expect(Math.min(...rounds)).toBeGreaterThan(0);
    const { machines } = await daemons[0]!.bmdb.scan(SIGNAL);
    expect(machines.map((row) => row.machineId).toSorted()).toEqual(bystanders.toSorted());
    for (const { bmdb, session } of daemons) {
      await session.close();
      await bmdb.close();
    }
  },
  LIMIT_MS,
);
