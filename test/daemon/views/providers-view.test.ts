import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Provider } from '../../../src/adapters/provider/port.ts';
import type { ProviderSummary } from '../../../src/console/views.ts';
import { createProvidersView } from '../../../src/daemon/views/providers-view.ts';
import type { Slot } from '../../../src/domain/ids.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { PROVIDER } from '../../support/facts.ts';
import {
  createPlayedWorld,
  type PlayedDaemon,
  type PlayedWorld,
} from '../../support/played-world.ts';

/** Two daemons, one of which provisions. Both must show the same provider. */

const MINUTE = 60_000;
const SLOTS = 12;
const MACHINES = 8;

let world: PlayedWorld;
let daemons: readonly PlayedDaemon[] = [];
/** The provider omits used machines from its listing. */
let isForgetful = false;

const forgetting = (driven: Provider): Provider => ({
  ...driven,
  async listMachines(filter, options) {
    const listing = await driven.listMachines(filter, options);
    const machines = listing.machines.filter(
      ({ availability }) => !isForgetful || availability === 'KnownUnused',
    );
    return { ...listing, machines };
  },
});

const toldBy = async ({ daemon }: PlayedDaemon): Promise<ProviderSummary> => {
  const view = createProvidersView(daemon.parts);
  return (await view.summary(PROVIDER))!;
};
const toldByAll = () => Promise.all(daemons.map(toldBy));
const freeSlot = ({ daemon }: PlayedDaemon): Slot =>
  [...daemon.board.entries.values()].find(({ state }) => state === 'Reserved')!.view.slot;

beforeAll(async () => {
  world = createPlayedWorld({
    seed: 5,
    locations: { hall: SLOTS },
    config: { provisioner: { maxMachines: MACHINES } },
  });
  const one = await world.start({ name: 'one', driven: forgetting });
  await advance(world.clock, 200);
  daemons = [one, await world.start({ name: 'two', driven: forgetting })];
  await advance(world.clock, 12 * MINUTE);
});
afterAll(async () => {
  await Promise.all([...daemons.map(({ daemon }) => daemon.stop()), advance(world.clock, MINUTE)]);
  world.end();
});

test('names the provisioning daemon on both daemons', async () => {
  const told = await toldByAll();
  expect(told.map(({ provisioner }) => provisioner?.isHere).toSorted()).toEqual([false, true]);
  expect(new Set(told.map(({ provisioner }) => provisioner?.sessionId)).size).toBe(1);
});

test('counts slots by kind, and shows the listing’s age and the call times', async () => {
  for (const { classes, listing, calls, machinesMax, breaker } of await toldByAll()) {
    const sum = (of: 'free' | 'used') => classes.reduce((total, each) => total + each[of], 0);
    expect([sum('free'), sum('used'), machinesMax]).toEqual([SLOTS - MACHINES, MACHINES, MACHINES]);
    expect(listing).toMatchObject({ complete: true, entries: SLOTS, unreadable: 0 });
    const ageMs = world.clock.now() - listing!.atMs;
    expect(ageMs).toBeGreaterThanOrEqual(0);
    expect(ageMs).toBeLessThanOrEqual(2 * MINUTE);
    expect(calls.find(({ operation }) => operation === 'List')?.calls).toBeGreaterThan(5);
    expect(breaker?.reason).toBeNull();
  }
});

test('reports an untrusted listing on both, which bars creation in the words of explanations', async () => {
  isForgetful = true;
  await advance(world.clock, 4 * MINUTE);
  for (const [at, { breaker }] of (await toldByAll()).entries()) {
    expect(breaker?.reason).toBe(
      `${MACHINES} of ${MACHINES} machines disagree (0 orphans, 8 missing)`,
    );
    const { insight } = daemons[at]!.daemon;
    const told = await insight.explain(freeSlot(daemons[at]!), new AbortController().signal);
    expect(told?.blockedBy.map(({ text }) => text)).toContain(
      `its provider's listing is not trusted: ${breaker?.reason}`,
    );
  }
  isForgetful = false;
  await advance(world.clock, 4 * MINUTE);
  expect((await toldByAll()).map(({ breaker }) => breaker?.reason)).toEqual([null, null]);
});
