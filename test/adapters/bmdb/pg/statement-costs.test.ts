import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bmdb, BmdbSession, Lease, Work } from '../../../../src/adapters/bmdb/port.ts';
import type { HeartbeatRecord } from '../../../../src/domain/heartbeat.ts';
import { machineId } from '../../../../src/domain/ids.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { MINUTE, PROVIDER, providedOf, startedAt } from '../../../contracts/bmdb-rows.ts';
import { TRUSTING_GUARD } from '../../../support/ingest.ts';
import { startWireCount } from '../../../support/wire-count.ts';
import type { WireCount } from '../../../support/wire-count.ts';
import { recordOf } from './beat-stand.ts';
import { STARTED } from './claim-stand.ts';
import { claimStand, openOn, SIGNAL } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

// Counts the data sent to the database on the wire: a change that sends more fails here.
const s = claimStand();
let wire: WireCount;
let bmdb: Bmdb;
let session: BmdbSession;
beforeEach(async () => {
  wire = await startWireCount(s.server.url);
  bmdb = openPgBmdb({
    url: wire.url,
    budget: { fleetMax: 100, perGroupMax: 100, percent: 100 },
    guard: TRUSTING_GUARD,
    wakes: 'poll',
    // A prepared statement serves every call.
    poolMax: 1,
  });
  session = await openOn(bmdb);
});
afterEach(async () => {
  await bmdb.close();
  await wire.close();
});

const ONCE = { statements: 1, parses: 0, syncs: 1 };
const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
/** The data sent for the call. */
async function costOf(call: () => Promise<unknown>) {
  wire.take();
  await call();
  return wire.take();
}

describe('agents', () => {
  /** Starts an agent on each machine. @returns the data sent for each step. */
  async function startAgents(ids: readonly MachineId[]) {
    const each = <T>(run: (id: MachineId) => Promise<T>) => Promise.all(ids.map(run));
    let works: readonly Work[] = [];
    return {
      claims: await costOf(async () => {
        works = await each((id) => session.claim('ShepherdAgentStart', id));
      }),
      notes: await costOf(() =>
        Promise.all(
          works.map((work) => work.note({ kind: 'agentStartAttempt', hostKey: 'a key' })),
        ),
      ),
      ends: await costOf(() =>
        Promise.all(works.map((work) => work.finish({ ...STARTED, hostKey: 'a key' }))),
      ),
      reads: await costOf(() => each((id) => bmdb.readMachine(id, SIGNAL))),
    };
  }

  it('start in four statements, to each of which a machine adds few bytes', async () => {
    await startAgents(await s.addMany(2));
    const [one, many] = [
      await startAgents([await s.add()]),
      await startAgents(await s.addMany(41)),
    ];
    for (const sent of [one, many]) {
      expect(sent).toMatchObject({ claims: ONCE, notes: ONCE, ends: ONCE, reads: ONCE });
    }
    const added = (step: keyof typeof one) => (many[step].bytes - one[step].bytes) / 40;
    expect(added('claims')).toBeLessThan(40);
    expect(added('reads')).toBeLessThan(40);
    expect(added('notes')).toBeLessThan(80);
    expect(added('ends')).toBeLessThan(180);
  });
});

describe('heartbeats', () => {
  const addMany = async (count: number): Promise<HeartbeatRecord[]> => {
    const ids = await s.addMany(count, startedAt(Date.now() - MINUTE));
    return ids.map((id) => recordOf(id, { bootId: randomUUID() }));
  };
  const send = (batch: readonly HeartbeatRecord[]) =>
    costOf(async () => {
      const outcomes = await bmdb.heartbeats.recordHeartbeats(batch);
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    });

  it('from agents without news take one statement, for any number of agents', async () => {
    const batch = await addMany(200);
    await send(batch);
    const [one, all] = [await send(batch.slice(0, 1)), await send(batch)];
    for (const { byName, ...cost } of [one, all]) {
      expect({ ...cost, names: Object.keys(byName) }).toMatchObject({
        ...{ ...ONCE, names: ['heartbeats-beat'] },
      });
    }
    // A machine's id as text, and its key.
    expect((all.bytes - one.bytes) / 199).toBeLessThan(80);
    expect(one.bytes).toBeLessThan(250);
  });

  it('from agents that are heard for the first time take one more transaction', async () => {
    const [known, fresh] = [await addMany(20), await addMany(20)];
    await send(known);
    const cost = await send([...known, ...fresh]);
    expect(cost).toMatchObject({ statements: 5, parses: 0, syncs: 5 });
    expect(Object.keys(cost.byName)).toEqual([
      'heartbeats-beat',
      expect.stringMatching(/^BEGIN /),
      ...['heartbeats-admit', 'COMMIT'],
    ]);
  });

  it('from unknown agents take one more transaction, too', async () => {
    const known = await addMany(2);
    await send(known);
    const all = [...known, recordOf(machineId(randomUUID()))];
    const cost = await costOf(() => bmdb.heartbeats.recordHeartbeats(all));
    expect(cost).toMatchObject({ statements: 4, parses: 0 });
  });
});

describe('creations', () => {
  let lease: Lease;
  beforeEach(async () => {
    lease = (await session.lease('provisioner/test'))!;
    // Connects, and prepares the statements.
    await createAll([0]);
  });
  const slotOf = (at: number) => ({ provider: PROVIDER, slotId: `r${at}`, hostname: `m-${at}` });
  const createAll = (slots: readonly number[]) =>
    costOf(() =>
      Promise.all(
        slots.map(async (at) => {
          const { witness } = await session.intents.open({ ...slotOf(at), lease });
          await session.intents.progress(witness, { attempts: 1, ambiguous: false, empty: false });
          const device = providedOf(String(at), { reservationId: `r${at}` });
          await session.intents.adopt(witness, device);
        }),
      ),
    );

  it('take one statement and one round trip per step, for any number of creations', async () => {
    const one = await createAll([1]);
    expect(one).toMatchObject({ statements: 3, syncs: 3 });
    expect(Object.keys(one.byName).toSorted()).toEqual([
      ...['intents-adopt', 'intents-note', 'intents-open'],
    ]);
    const many = await createAll(numbers(202).slice(2));
    expect(many).toMatchObject({ statements: 3, syncs: 3 });
    expect(many.bytes / 200).toBeLessThan(350);
    const { witness } = await session.intents.open(slotOf(202));
    const failed = { state: 'failed', cause: 'no disk', penaltyMs: 60_000 } as const;
    expect(await costOf(() => session.intents.end(witness, failed))).toMatchObject({
      ...{ statements: 1, syncs: 1 },
    });
  });

  it("take one statement to keep a job, and one to store a provider's report", async () => {
    const { machines } = await bmdb.scan(SIGNAL);
    const kept = await costOf(async () => {
      expect((await session.lease(lease.name))?.epoch).toBe(lease.epoch);
    });
    expect(kept).toMatchObject({ statements: 1, syncs: 1 });
    const id = machines[0]!.machineId;
    const told = await costOf(() => session.updateProvided(id, { status: 'Stopped' }));
    expect(told).toMatchObject({ statements: 1, syncs: 1 });
  });
});
