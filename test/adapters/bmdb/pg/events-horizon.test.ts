import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  horizonAfter,
  NOTHING_SEEN,
  type Horizon,
} from '../../../../src/adapters/bmdb/pg/events/horizon.ts';
import { BEFORE_ALL } from '../../../../src/adapters/bmdb/port.ts';
import type { Bmdb } from '../../../../src/adapters/bmdb/port.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { systemClock, systemRandom } from '../../../../src/adapters/clock/system-clock.ts';
import { PATIENCE } from '../../../support/patience.ts';
import { openPgBmdb, startOwnPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';

/** A transaction of the model. It gets an id before it takes numbers, as the trigger ensures. */
interface Running {
  readonly xid: bigint;
  readonly numbers: bigint[];
}
const STEPS = ['begin', 'number', 'commit', 'abort', 'look', 'ask', 'answer'] as const;

describe('the horizon of complete events', () => {
  it('returns everything once and in order, whatever commits late or never', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...STEPS), fc.nat(20)), {
          minLength: 60,
          maxLength: 200,
        }),
        (steps) => {
          const world = createModel();
          for (const [step, which] of steps) world.step(step, which);
          // At rest, one read returns the rest.
          world.end();
          expect(world.told).toEqual(world.committed());
        },
      ),
      { numRuns: 500 },
    );
  });
});

function createModel() {
  let [nextXid, nextNumber, lastEnded] = [1n, 1n, 0n];
  const running: Running[] = [];
  const committed: bigint[] = [];
  const told: bigint[] = [];
  const asked: { readonly before: Horizon; readonly sight: ReturnType<typeof see> }[] = [];
  let horizon = NOTHING_SEEN;
  /**
   * Like PostgreSQL: a snapshot lists only those running transactions that are older than the last
   * ended one.
   */
  const see = () => ({
    newest: committed.reduce((most, each) => (each > most ? each : most), 0n),
    xmin: running.reduce((least, { xid }) => (xid < least ? xid : least), lastEnded + 1n),
    begun: nextXid,
    rows: [...committed],
  });
  const end = (which: number) => {
    const [ended] = running.splice(which % Math.max(1, running.length), 1);
    if (ended && ended.xid > lastEnded) lastEnded = ended.xid;
    return ended?.numbers ?? [];
  };
  const answer = ({ before, sight }: (typeof asked)[number]) => {
    const found = horizonAfter(before, sight);
    if (before === horizon) horizon = found;
    const after = told.at(-1) ?? 0n;
    const news = sight.rows.filter((each) => each > after && each <= found.number);
    told.push(...news.toSorted((a, b) => (a < b ? -1 : 1)));
  };
  const acts: Record<(typeof STEPS)[number], (which: number) => void> = {
    begin: () => void running.push({ xid: nextXid++, numbers: [] }),
    number: (which) => running[which % running.length]?.numbers.push(nextNumber++),
    commit: (which) => void committed.push(...end(which)),
    abort: (which) => void end(which),
    look: () => answer({ before: horizon, sight: see() }),
    ask: () => void asked.push({ before: horizon, sight: see() }),
    answer: (which) => {
      const [given] = asked.splice(which % Math.max(1, asked.length), 1);
      if (given) answer(given);
    },
  };
  return {
    told,
    committed: () => committed.toSorted((a, b) => (a < b ? -1 : 1)),
    step: (step: (typeof STEPS)[number], which: number) => acts[step](which),
    end: () => {
      while (running.length > 0) acts.commit(0);
      acts.look(0);
    },
  };
}

describe('events in PostgreSQL', () => {
  let server: PgServer;
  let bmdb: Bmdb;
  const signal = new AbortController().signal;
  beforeAll(async () => {
    server = await startOwnPgServer();
    bmdb = openPgBmdb({
      ...{ url: server.url, clock: systemClock, random: systemRandom, log: silentLog },
      ...{ loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET, wakes: 'poll' },
    });
  });
  const clients: pg.Client[] = [];
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.end()));
    await bmdb.close();
    await server.stop();
  });
  const connect = async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    clients.push(client);
    return client;
  };
  const add = (client: pg.Client, actor: string, table = 'fleet_events') =>
    client.query(
      table === 'fleet_events'
        ? `INSERT INTO fleet_events (type, actor) VALUES ('guard.thawed', $1)`
        : `INSERT INTO slot_events (provider, slot_id, kind, actor) VALUES ('p', 's', 'released', $1)`,
      [actor],
    );
  const read = async (after: string) => {
    const { events, next } = await bmdb.events.read({ after, limit: 100 }, signal);
    return { actors: events.map(({ actor }) => actor), next };
  };

  it('wait while a smaller number can still come, and none is left out', async () => {
    const [early, late, other] = [await connect(), await connect(), await connect()];
    const { next: start } = await read(BEFORE_ALL);
    await early.query('BEGIN');
    await add(early, 'early');
    await add(late, 'late', 'slot_events');
    expect((await read(start)).actors).toEqual([]);
    expect((await read(start)).actors).toEqual([]);
    // Another transaction is always running, as in a busy fleet.
    await other.query('BEGIN');
    await add(other, 'never');
    await early.query('COMMIT');
    const seen = async () => (await read(start)).actors;
    await expect.poll(seen, PATIENCE).toEqual(['early', 'late']);
    await other.query('ROLLBACK');
    const { next } = await read(start);
    await add(late, 'last');
    await expect.poll(async () => (await read(next)).actors, PATIENCE).toEqual(['last']);
  });

  it('wait for a smaller number of a transaction younger than all that ended', async () => {
    const [older, younger] = [await connect(), await connect()];
    const { next: start } = await read(BEFORE_ALL);
    await older.query('BEGIN');
    await older.query('SELECT pg_current_xact_id()');
    await younger.query('BEGIN');
    await add(younger, 'smaller');
    await add(older, 'greater');
    await older.query('COMMIT');
    // The snapshot's end is itself still running: without other transactions nothing would run
    // here.
    const { rows } = await younger.query<{ listed: boolean }>(
      `SELECT pg_current_xact_id() < pg_snapshot_xmax(pg_current_snapshot()) AS listed`,
    );
    expect(rows).toEqual([{ listed: false }]);
    expect((await read(start)).actors).toEqual([]);
    const waitingMs = bmdb.events.waitingMs();
    expect((await read(start)).actors).toEqual([]);
    expect(bmdb.events.waitingMs()).toBeGreaterThan(waitingMs);
    await younger.query('COMMIT');
    await expect
      .poll(async () => (await read(start)).actors, PATIENCE)
      .toEqual(['smaller', 'greater']);
    expect(bmdb.events.waitingMs()).toBe(0);
  });

  it('have the id of their transaction before their number', async () => {
    const client = await connect();
    for (const table of ['fleet_events', 'slot_events']) {
      const { rows } = await client.query<{ tgname: string; tgtype: number }>(
        `SELECT tgname, tgtype::int AS tgtype FROM pg_trigger
         WHERE tgrelid = $1::regclass AND tgname = 'take_xid' AND tgenabled = 'O'`,
        [table],
      );
      // Before (2), insert (4), and for each statement (not 1).
      expect(rows).toEqual([{ tgname: 'take_xid', tgtype: 6 }]);
    }
  });

  it('reach a reader behind many writers once and in order', async () => {
    const writers = await Promise.all(Array.from({ length: 8 }, connect));
    const { next: start } = await read(BEFORE_ALL);
    let isWriting = true;
    const write = async (client: pg.Client, writer: number) => {
      for (let turn = 0; turn < 25; turn++) {
        await client.query('BEGIN');
        for (let event = 0; event <= (writer + turn) % 3; event++) {
          await add(client, `${writer}`, event % 2 === 0 ? 'fleet_events' : 'slot_events');
        }
        await client.query((writer * turn) % 5 === 3 ? 'ROLLBACK' : 'COMMIT');
      }
    };
    const told: string[] = [];
    const follow = async () => {
      let after = start;
      for (let last = false; !last;) {
        last = !isWriting;
        const page = await bmdb.events.read({ after, limit: 7 }, signal);
        told.push(...page.events.map(({ number }) => number));
        after = page.next;
        if (page.more) last = false;
      }
    };
    const following = follow();
    await Promise.all(writers.map(write));
    isWriting = false;
    await following;
    const { rows } = await writers[0]!.query<{ seq: string }>(
      `SELECT seq FROM (SELECT seq FROM slot_events UNION ALL SELECT seq FROM fleet_events) e
       WHERE seq > $1 ORDER BY seq`,
      [start],
    );
    expect(rows.length).toBeGreaterThan(200);
    expect(told).toEqual(rows.map(({ seq }) => seq));
  });
});
