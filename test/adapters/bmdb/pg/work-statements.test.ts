import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Bmdb, BmdbSession, Work } from '../../../../src/adapters/bmdb/port.ts';
import type { MachineId } from '../../../../src/domain/ids.ts';
import { MINUTE, startedAt } from '../../../contracts/bmdb-rows.ts';
import { TRUSTING_GUARD } from '../../../support/ingest.ts';
import { startWireCount } from '../../../support/wire-count.ts';
import type { WireCount } from '../../../support/wire-count.ts';
import { addMachines, claimStand, openOn, SIGNAL, STARTED } from './claim-stand.ts';
import { openPgBmdb } from './pg-harness.ts';

// What work costs is counted on the wire, so that whoever makes it dearer hears of it.
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
    poolMax: 2,
  });
  session = await openOn(bmdb);
});
afterEach(async () => {
  await bmdb.close();
  await wire.close();
});

const claimAll = (ids: readonly MachineId[]) =>
  Promise.all(ids.map((id) => session.claim('ShepherdAgentStart', id)));
const noteAll = (works: readonly Work[]) =>
  Promise.all(works.map((work) => work.note({ kind: 'agentStartAttempt', hostKey: 'a key' })));
const finishAll = (works: readonly Work[]) =>
  Promise.all(works.map((work) => work.finish({ ...STARTED, hostKey: 'a key' })));
const readAll = (ids: readonly MachineId[]) =>
  Promise.all(ids.map((id) => bmdb.readMachine(id, SIGNAL)));

/** Starts an agent on each. @returns what was sent for each step. */
async function startAgents(ids: readonly MachineId[]) {
  wire.take();
  const works = await claimAll(ids);
  const claims = wire.take();
  await noteAll(works);
  const notes = wire.take();
  await finishAll(works);
  const ends = wire.take();
  await readAll(ids);
  return { claims, notes, ends, reads: wire.take() };
}

it.each([1, 40])('agents of %i machines are started in four statements', async (count) => {
  await startAgents(await addMachines(s, 2));
  const sent = await startAgents(await addMachines(s, count));
  const once = { statements: 1, parses: 0, syncs: 1 };
  expect(sent).toMatchObject({ claims: once, notes: once, ends: once, reads: once });
});

it('a machine adds few bytes to each of them', async () => {
  await startAgents(await addMachines(s, 2));
  const [one, many] = [
    await startAgents(await addMachines(s, 1)),
    await startAgents(await addMachines(s, 41)),
  ];
  const added = (step: keyof typeof one) => (many[step].bytes - one[step].bytes) / 40;
  expect(added('claims')).toBeLessThan(40);
  expect(added('reads')).toBeLessThan(40);
  expect(added('notes')).toBeLessThan(80);
  expect(added('ends')).toBeLessThan(180);
});

it('notes of what was asked for share a statement, too', async () => {
  const ids = await addMachines(s, 3, startedAt(Date.now() - 40 * MINUTE));
  const works = await Promise.all(ids.map((id) => session.claim('ShepherdRecovery', id)));
  for (const work of works) {
    await work.note({ kind: 'recoveryAsked', rung: 'powerCycling', bootId: null });
  }
  wire.take();
  for (const kind of ['powerSeenOff', 'powerOnAccepted'] as const) {
    await Promise.all(works.map((work) => work.note({ kind })));
  }
  expect(wire.take().byName).toMatchObject({
    'note-seen-off': { count: 1 },
    'note-powered-on': { count: 1 },
  });
});
