import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../../../src/simulator/fakequinix/options.ts';
import { parseWorld } from '../../../../src/simulator/fakequinix/world.ts';
import type { ProviderError } from '../../../../src/domain/errors.ts';
import { witness } from '../../../../src/domain/ids.ts';
import { runOut, settled } from '../../../doubles/simulated-clock.ts';
import { bareFleetOver } from './fleet.ts';
import { configFor, type Recorded, recordingDeps } from './setup.ts';
import { live, reservationId } from './stand.ts';

/** Vector 12: ten creations by two daemons on one reservation. */
const SLOT = reservationId(1);
const CREATE = { method: 'POST', route: '/projects/{id}/devices' };
const LOST = { code: 'race-lost', outcome: 'not-done' };

let fake: Fakequinix;
let deps: Recorded;
beforeEach(async () => {
  deps = recordingDeps();
  const { clock, network } = deps;
  fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0, network },
    clock,
    profile: 'fast',
    world: parseWorld({ reservations: [{ id: SLOT }] }),
  });
});
afterEach(async () => {
  const violations = fake.violations();
  await fake.close();
  expect(violations).toEqual([]);
});

const posts = () => fake.requests().filter(({ route, method }) => `${method} ${route}` === POST);
const POST = `${CREATE.method} ${CREATE.route}`;

/** A daemon that has seen the reservation free, and creates the machine five times. */
async function creator(place: number) {
  const witnesses = [0, 1, 2, 3, 4].map((n) => `0b6e1111-1111-4111-8111-0000000000${place}${n}`);
  const { url, projectId } = fake;
  const config = configFor(url, { projectId, token: () => fake.tokens.user });
  const provider = bareFleetOver(config, deps);
  onTestFinished(() => runOut(deps.clock, provider.stop()));
  const { machines } = await runOut(deps.clock, provider.listMachines(live));
  const unused = machines.find(({ reservationId: id }) => id === SLOT)!;
  const hostname = provider.hostnameFor(SLOT);
  const create = (mark: string) =>
    provider.createMachine({ unused, hostname, witness: witness(mark) }, live).then(
      ({ id }) => ({ id }),
      ({ code, outcome }: ProviderError) => ({ code, outcome }),
    );
  return { witnesses, run: () => Promise.all(witnesses.map(create)) };
}

test('vector 12 (driver): of ten creations by two daemons one wins, and nine lose the race', async () => {
  const creators = await Promise.all([creator(1), creator(2)]);
  // Both read that the reservation is free before either has it.
  fake.addFault({ match: CREATE, effect: { type: 'latency', ms: 300 } });
  const results = (await runOut(deps.clock, Promise.all(creators.map(({ run }) => run())))).flat();
  const [device] = fake.devices();
  const won = results.findIndex((one) => 'id' in one);
  expect(results.toSpliced(won, 1)).toEqual(Array(9).fill(LOST));
  expect([results[won], fake.devices()]).toEqual([{ id: device!.id }, [device]]);
  const mark = creators.flatMap(({ witnesses }) => witnesses)[won];
  expect(device!.tags).toContain(`shepherd-idempotency-${mark}`);
  // A daemon asks once, and only the intent in the database can know of another daemon.
  const asked = posts().map(({ status }) => status);
  expect([[201], [201, 422]]).toContainEqual(asked.toSorted());
});

test('vector 12 (driver): with a reply lost one POST is all, and the daemon that sent it wins', async () => {
  const [first, second] = await Promise.all([creator(1), creator(2)]);
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const ofFirst = first.run();
  await settled();
  expect(fake.devices()).toHaveLength(1);
  expect(await runOut(deps.clock, second.run())).toEqual(Array(5).fill(LOST));
  const results = await runOut(deps.clock, ofFirst);
  const [device] = fake.devices();
  expect(results.filter((one) => 'id' in one && one.id === device!.id)).toHaveLength(1);
  expect(results.filter((one) => !('id' in one))).toEqual(Array(4).fill(LOST));
  expect(posts()).toHaveLength(1);
  expect(fake.devices()).toHaveLength(1);
});
