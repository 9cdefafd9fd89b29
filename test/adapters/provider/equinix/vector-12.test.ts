import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startFakequinix } from '../../../../src/simulator/fakequinix/fakequinix.ts';
import type { Fakequinix } from '../../../../src/simulator/fakequinix/options.ts';
import { parseWorld } from '../../../../src/simulator/fakequinix/world.ts';
import { PATIENCE } from '../../../support/patience.ts';
import type { CreatorDone, CreatorSetup } from './creator.ts';
import { reservationId } from './stand.ts';

/** Vector 12: ten creations by two processes on one reservation. */
const SLOT = reservationId(1);
const CREATE = { method: 'POST', route: '/projects/{id}/devices' };
const LOST = { code: 'race-lost', outcome: 'not-done' };

let fake: Fakequinix;
beforeEach(async () => {
  fake = await startFakequinix({
    listen: { host: '127.0.0.1', port: 0 },
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

/** A process that is ready to create the machine five times. */
async function creator(place: number) {
  const child = fork(join(import.meta.dirname, 'creator.ts'));
  onTestFinished(() => void child.kill('SIGKILL'));
  const witnesses = [0, 1, 2, 3, 4].map((n) => `0b6e1111-1111-4111-8111-0000000000${place}${n}`);
  const { url: baseUrl, projectId } = fake;
  const setup = { baseUrl, projectId, token: fake.tokens.user, slot: SLOT, witnesses };
  child.send(setup satisfies CreatorSetup);
  await once(child, 'message');
  return {
    witnesses,
    run: async () => {
      child.send('go');
      const [{ results }] = (await once(child, 'message')) as [CreatorDone];
      return results;
    },
  };
}

test('vector 12 (driver): of ten creations by two processes one wins, and nine lose the race', async () => {
  const creators = await Promise.all([creator(1), creator(2)]);
  // Both read that the reservation is free before either has it.
  fake.addFault({ match: CREATE, effect: { type: 'latency', ms: 300 } });
  const results = (await Promise.all(creators.map(({ run }) => run()))).flat();
  const [device] = fake.devices();
  const won = results.findIndex(({ id }) => id !== undefined);
  expect(results.toSpliced(won, 1)).toEqual(Array(9).fill(LOST));
  expect([results[won], fake.devices()]).toEqual([{ id: device!.id }, [device]]);
  const mark = creators.flatMap(({ witnesses }) => witnesses)[won];
  expect(device!.tags).toContain(`shepherd-idempotency-${mark}`);
  // A process asks once, and only the intent in the database can know of another process.
  const asked = posts().map(({ status }) => status);
  expect([[201], [201, 422]]).toContainEqual(asked.toSorted());
});

test('vector 12 (driver): with a reply lost one POST is all, and the process that sent it wins', async () => {
  const [first, second] = await Promise.all([creator(1), creator(2)]);
  fake.addFault({ match: CREATE, times: 1, effect: { type: 'drop', phase: 'after' } });
  const ofFirst = first.run();
  await vi.waitFor(() => expect(fake.devices()).toHaveLength(1), PATIENCE);
  expect(await second.run()).toEqual(Array(5).fill(LOST));
  const results = await ofFirst;
  const [device] = fake.devices();
  expect(results.filter(({ id }) => id === device!.id)).toHaveLength(1);
  expect(results.filter(({ id }) => id === undefined)).toEqual(Array(4).fill(LOST));
  expect(posts()).toHaveLength(1);
  expect(fake.devices()).toHaveLength(1);
});
