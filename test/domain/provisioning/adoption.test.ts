import { expect, test } from 'vitest';
import { capabilitiesFor, isAdopted } from '../../../src/domain/provisioning/adoption.ts';
import { providerRefusal } from '../../../src/domain/submission/prospects.ts';
import { DEFAULT_LADDER, nextStep } from '../../../src/domain/recovery/ladder.ts';
import { PROVIDER, ladderRow, machineRow, provided } from '../../support/facts.ts';

const ALL = { reboot: true, power: true, reinstall: true, deprovision: true };
const BOTH = { ...ALL, adopted: { ...ALL, reinstall: false } };
const CREATED = { reservationId: '323' };
const ADOPTED = { reservationId: null };

test('what a provider can do depends on whether it created or adopted the machine', () => {
  expect(capabilitiesFor(BOTH, CREATED)).toBe(BOTH);
  expect(capabilitiesFor(BOTH, ADOPTED)).toBe(BOTH.adopted);
  expect(capabilitiesFor(BOTH, null), 'nothing is known of it').toBe(BOTH);
  expect(capabilitiesFor(ALL, ADOPTED)).toBe(ALL);
  const adopted = [CREATED, ADOPTED, null, undefined].map((each) => isAdopted(BOTH, each));
  expect(adopted).toEqual([false, true, false, false]);
  expect(isAdopted({}, ADOPTED)).toBe(false);
});

test('an operator is told what to do instead of reinstalling an adopted machine', () => {
  const refusal = (
    verb: 'reinstall' | 'reboot' | 'deprovision',
    machine: { readonly reservationId: string | null },
    means = BOTH,
  ) => {
    const row = machineRow({ provided: provided(machine) });
    const entry = { rows: [row], facts: { listed: null } };
    return providerRefusal(
      verb,
      { provider: PROVIDER, machineId: row.machineId, entry },
      means,
      false,
    );
  };
  expect(refusal('reinstall', ADOPTED)).toMatch(
    /is adopted, .*let go of it \(machine deprovision\)/,
  );
  expect([refusal('reboot', ADOPTED), refusal('deprovision', ADOPTED)]).toEqual([null, null]);
  expect(refusal('reinstall', CREATED)).toBeNull();
  const never = { ...ALL, reinstall: false };
  expect(refusal('reinstall', ADOPTED, { ...never, adopted: never })).toMatch(
    /^provider \S+ cannot/,
  );
});

test('recovery never reinstalls an adopted machine, even where it may erase disks', () => {
  const policy = {
    ...DEFAULT_LADDER,
    reinstalling: { ...DEFAULT_LADDER.reinstalling, attempts: 2 },
  };
  const rungs = (reservationId: string | null) => {
    const recovery = ladderRow({
      rung: 'powerCycling',
      attempts: DEFAULT_LADDER.powerCycling.attempts,
    });
    const row = machineRow({ provided: provided({ reservationId }), recovery });
    const means = capabilitiesFor(BOTH, row.provided);
    const at = { nowMs: 0, preserved: false, askAgainMs: 0, hungController: null };
    return nextStep(row, { means, policy, ...at });
  };
  expect(rungs('323')).toMatchObject({ rung: 'reinstalling' });
  expect(rungs(null)).toHaveProperty('end');
});
