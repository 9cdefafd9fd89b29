import { expect, test } from 'vitest';
import { createCreations } from '../../../src/actors/provisioning/creations.ts';
import type { Creation } from '../../../src/domain/provisioning/reconcile.ts';
import { ProviderError } from '../../../src/domain/errors.ts';
import { slot } from '../../../src/domain/ids.ts';
import type { FleetProvider } from '../../../src/adapters/provider/port.ts';
import { PROVIDER } from '../../support/facts.ts';
import { createProvisionStand } from '../../support/provision-stand.ts';
import { settled } from '../../doubles/simulated-clock.ts';

/**
 * The quota compares the number of a provider's machines, so the number must follow each machine.
 */

const MACHINES = 3;

async function begun(createMachine?: FleetProvider['createMachine'], taken = false) {
  const stand = createProvisionStand();
  const provider = { ...stand.provider, ...(createMachine && { createMachine }) };
  const life = await stand.life({ provider });
  await life.step('takeLease');
  const { parts, keeper } = life;
  const session = keeper.require();
  const [slotId] = stand.provider.reservationIds();
  if (taken) await session.intents.open({ provider: PROVIDER, slotId: slotId!, hostname: 'x' });
  const { machines } = await stand.provider.listMachines({ signal: new AbortController().signal });
  const creation: Creation = {
    slot: slot(PROVIDER, slotId!),
    slotId: slotId!,
    unused: machines.find((each) => each.reservationId === slotId)!,
  };
  const lease = (await session.lease(`provisioner/${PROVIDER}`))!;
  const population = { count: MACHINES };
  const terms = { session, lease, holds: new Map(), nowMs: stand.clock.now(), population };
  const creations = createCreations(parts.provision);
  const counts: number[] = [];
  const beginning = creations.begin(creation, terms);
  counts.push(population.count);
  const isBegun = await beginning;
  await settled();
  counts.push(population.count);
  return { isBegun, counts, states: stand.states() };
}

test('B2: counts a created machine from its begin', async () => {
  expect(await begun()).toEqual({
    isBegun: true,
    counts: [MACHINES + 1, MACHINES + 1],
    states: ['adopted'],
  });
});

test('B2: no longer counts a creation that lost its slot before it began', async () => {
  expect(await begun(undefined, true)).toMatchObject({
    isBegun: false,
    counts: [MACHINES + 1, MACHINES],
  });
});

test('B2: no longer counts a refused creation', async () => {
  const refused = new ProviderError('permanent', 'no such plan', { outcome: 'not-done' });
  expect(await begun(() => Promise.reject(refused))).toEqual({
    isBegun: true,
    counts: [MACHINES + 1, MACHINES],
    states: ['failed'],
  });
});

test('B2: keeps counting a creation with an unknown outcome', async () => {
  const lost = new ProviderError('transient', 'the reply was lost', { outcome: 'unknown' });
  expect(await begun(() => Promise.reject(lost))).toMatchObject({
    isBegun: true,
    counts: [MACHINES + 1, MACHINES + 1],
  });
});
