import { describe, expect, test } from 'vitest';
import type { ProviderMachine, ProviderStatus } from '../../../src/domain/machine.ts';
import { failedReadMs, recheckJitter, updateOf } from '../../../src/domain/provisioning/update.ts';
import { device, machineRow, NOW_MS, provided } from '../../support/facts.ts';

const MINUTE = 60_000;
const row = (change: Parameters<typeof provided>[0] = {}) =>
  machineRow({ provided: provided(change) });
const update = (change: Partial<ProviderMachine>, of = row()) => updateOf(of, device(change), []);

describe('an update from the provider', () => {
  test('writes nothing without news', () => {
    expect(update({}).change).toBeNull();
  });

  test('writes only the fields that differ', () => {
    const seen = { address: '192.0.2.9', location: 'lab', status: 'Stopped' } as const;
    expect(update(seen).change).toEqual({ address: '192.0.2.9', status: 'Stopped' });
  });

  test('clears a value after two consecutive looks without it', () => {
    const seen = device({ address: null, location: null });
    const first = updateOf(row(), seen, []);
    expect(first).toMatchObject({ change: null, doubtful: ['address', 'location'] });
    const second = updateOf(row(), seen, first.doubtful);
    expect(second).toMatchObject({ change: { address: null, location: null }, doubtful: [] });
  });

  test('keeps a value that appears again in between', () => {
    const first = updateOf(row(), device({ address: null }), []);
    const back = updateOf(row(), device(), first.doubtful);
    expect(back).toMatchObject({ change: null, doubtful: [] });
    expect(updateOf(row(), device({ address: null }), back.doubtful).change).toBeNull();
  });

  test('ends the run of absences when the machine is seen', () => {
    const absent = machineRow({ missing: { sinceMs: NOW_MS, seen: 2 } });
    expect(updateOf(absent, device(), []).change).toEqual({ absent: false });
    const gone = updateOf(absent, device({ status: 'Missing' }), []);
    expect(gone.change).toEqual({ status: 'Missing' });
  });
});

test.each<readonly [string, ProviderStatus, ProviderMachine['power'], number]>([
  ['active', 'Running', 'on', 30],
  ['inactive', 'Stopped', 'off', 30],
  ['deleted', 'Missing', 'off', 30],
  ['deprovisioning', 'Missing', 'unknown', 1],
  ['failed', 'ProvisioningFailedPermanent', 'unknown', 30],
  ['powering on or off', 'Stopped', 'unknown', 1],
  ['queued, provisioning, reinstalling', 'Provisioning', 'unknown', 1],
  ['anything else', 'Unknown', 'unknown', 1],
])('equinix vector 31: looks at %s again after its time', (_, status, power, minutes) => {
  const { change, recheckMs } = update({ status, power }, row({ status }));
  expect({ change, minutes: recheckMs / MINUTE }).toEqual({ change: null, minutes });
});

test('looks again after a minute at incomplete or just changed data', () => {
  for (const field of ['reservationId', 'address', 'location']) {
    expect(update({ [field]: null }).recheckMs).toBe(MINUTE);
  }
  expect(update({ address: '192.0.2.9' }).recheckMs).toBe(MINUTE);
});

test('looks again after 1, 2, 4 … 30 min after failures, within ± 10 %', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 100].map((failures) => failedReadMs(failures) / MINUTE);
  expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
  expect([0, 0.5, 1].map((chance) => recheckJitter(1_000, chance))).toEqual([900, 1_000, 1_100]);
});
