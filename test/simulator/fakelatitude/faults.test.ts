import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { startLatitude } from './harness.ts';
import { REQUEST_FAULTS } from './request-faults.ts';
import { SERVER_FAULTS } from './server-faults.ts';
import { testRows } from '../../support/rows.ts';

const FAULTS = [...REQUEST_FAULTS, ...SERVER_FAULTS];
/** What they do to a machine is shown on one, in `machines.test.ts`. */
const OF_MACHINES = [22, 23];

test('every fault of the list has its proof', () => {
  const numbers = [...FAULTS.map(([number]) => number), ...OF_MACHINES];
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
});

testRows(FAULTS)('shows fault %i: %s', async (_number, _what, proof) => {
  await proof(await startLatitude());
});

test('a rule strikes the method, the route, the page, the project and the server that it names', async () => {
  const { fake, ask, create, fault, listed, record } = await startLatitude();
  const { id } = (await create('a')).data;
  const status = { type: 'status', code: 500 } as const;
  const other = fake.teams()[0]!.projects[1]!.id;
  fault(status, { match: { route: '/servers/{server}', method: 'get', server: id } });
  fault(status, { match: { page: 2 } });
  fault(status, { match: { project: other } });
  const statuses = [
    await ask('GET', `/servers/${id}`),
    await ask('GET', `/servers/${id}/deploy_config`),
    await listed(),
    await listed('&page[number]=2'),
    await ask('GET', `/servers?filter[project]=${other}`),
    await create('b'),
    await record('c'),
  ].map((one) => one.status);
  expect(statuses).toEqual([500, 200, 200, 500, 500, 201, 201]);
  expect(fake.requests().filter(({ faults }) => faults.length > 0)).toHaveLength(3);
});

testRows([
  [{ effect: { type: 'unheard' } }, /effect/],
  [{ match: { route: '/nowhere' }, effect: { type: 'quota' } }, /no route/],
  [{ match: { project: 'proj_x' }, effect: { type: 'quota' } }, /no project/],
  [{ match: { server: 'x' }, effect: { type: 'quota' } }, /server/],
  [{ effect: { type: 'movedProject', to: 'proj_x' } }, /no project/],
  [{ match: { method: 'POST' }, effect: { type: 'deployStuck' } }, /happens to servers/],
  [{ match: { page: 1 }, effect: { type: 'locked' } }, /happens to servers/],
  [{ match: { method: 'GET' }, effect: { type: 'stranger', hostname: 'a' } }, /happens to servers/],
])('a rule that could never strike is refused: %j', async (rule, message) => {
  const { fake } = await startLatitude();
  expect(() => fake.addFault(rule as never)).toThrow(message);
  expect(fake.faults()).toEqual([]);
});

test('the emulator ends while a request hangs and another waits', async () => {
  const { fake, fault, listed, create } = await startLatitude();
  fault({ type: 'hang', phase: 'before' }, { match: { method: 'GET' } });
  fault({ type: 'latency', ms: 1_000 }, { match: { method: 'POST' } });
  const ends = Promise.allSettled([listed(), create('a')]);
  await expect.poll(() => fake.requests().length).toBe(2);
  const { port } = new URL(fake.url);
  await fake.close();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = createServer();
  await new Promise<void>((resolve) => next.listen(Number(port), '127.0.0.1', resolve));
  await new Promise((resolve) => next.close(resolve));
});
