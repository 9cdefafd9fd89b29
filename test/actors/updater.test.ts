import { expect, test } from 'vitest';
import type { SessionKeeper } from '../../src/actors/session-keeper.ts';
import { patchFor, updateProvided } from '../../src/actors/updater.ts';
import type { BmdbSession, ProvidedPatch } from '../../src/adapters/bmdb/port.ts';
import { Unreachable } from '../../src/domain/errors.ts';
import { slot, type MachineId } from '../../src/domain/ids.ts';
import { device, free, machineRow, MACHINE, SLOT, slotFacts } from '../support/facts.ts';
import { recordingLog } from '../support/recording-log.ts';

const facts = (change: Parameters<typeof device>[0]) =>
  slotFacts({ row: machineRow(), listed: device(change) });

test('nothing new, nothing to write', () => {
  expect(patchFor(facts({}))).toBeNull();
  expect(patchFor(slotFacts({ listed: device() }))).toBeNull();
  expect(patchFor(slotFacts({ row: machineRow(), listed: free() }))).toBeNull();
});

test('each field is compared by itself', () => {
  expect(patchFor(facts({ address: '192.0.2.9' }))).toEqual({ address: '192.0.2.9' });
  expect(patchFor(facts({ status: 'Stopped', location: 'east' }))).toEqual({
    status: 'Stopped',
    location: 'east',
  });
});

test('what the provider does not say clears nothing', () => {
  expect(patchFor(facts({ address: null, location: null, status: null }))).toBeNull();
});

test("another device on the slot is not the machine's", () => {
  expect(patchFor(facts({ id: 'device-2', address: '192.0.2.9' }))).toBeNull();
});

function keeping(update: (id: MachineId, patch: ProvidedPatch) => Promise<void>) {
  const session = { updateProvided: update } as BmdbSession;
  return { current: () => session } as SessionKeeper;
}

test('a machine that cannot be written does not stop the others', async () => {
  const written: [MachineId, ProvidedPatch][] = [];
  const keeper = keeping(async (id, patch) => {
    if (id === MACHINE) throw new Unreachable('no database');
    written.push([id, patch]);
  });
  const log = recordingLog();
  const other = 'aaaaaaaa-0000-4000-8000-000000000002' as MachineId;
  const known = new Map([
    [SLOT, facts({ status: 'Stopped' })],
    [
      slot('stub', 'rack-2'),
      slotFacts({ row: machineRow({ machineId: other }), listed: device({ status: 'Stopped' }) }),
    ],
  ]);
  await updateProvided(known, keeper, log);
  expect(written).toEqual([[other, { status: 'Stopped' }]]);
  expect(log.count('update failed')).toBe(1);
});

test('without a session nothing is written', async () => {
  const keeper = { current: () => null } as unknown as SessionKeeper;
  const log = recordingLog();
  await updateProvided(new Map([[SLOT, facts({ status: 'Stopped' })]]), keeper, log);
  expect(log.lines).toEqual([]);
});
