import { expect, test } from 'vitest';
import { newKey, startRobot } from './harness.ts';
import { MACHINE_FAULTS } from './machine-faults.ts';
import { WIRE_FAULTS } from './wire-faults.ts';
import { testRows } from '../../support/rows.ts';

const FAULTS = [...WIRE_FAULTS, ...MACHINE_FAULTS].toSorted(([one], [other]) => one - other);

test('every fault of the list has its proof', () => {
  const numbers = FAULTS.map(([number]) => number);
  expect(numbers).toEqual(Array.from({ length: 27 }, (_, n) => n + 1));
});

testRows(FAULTS)('shows fault %i: %s', async (_number, _what, proof) => {
  await proof(await startRobot());
});

test('a rule strikes the server that it names', async () => {
  const robot = await startRobot({ servers: 2 });
  await robot.fault({ type: 'status', code: 500 }, { match: { server: 321 } });
  await robot.fault({ type: 'inProcess' }, { match: { server: 322 } });
  expect((await robot.ask('GET', '/server/321')).status).toBe(500);
  expect(await robot.get('/server')).toMatchObject([
    { server: { status: 'ready' } },
    { server: { status: 'in process' } },
  ]);
});

testRows([
  [{ effect: { type: 'unheard' } }, /effect/],
  [{ match: { route: '/nowhere' }, effect: { type: 'inProcess' } }, /no route/],
  [{ match: { server: 9 }, effect: { type: 'inProcess' } }, /no server/],
  [{ match: { server: 321 }, effect: { type: 'addressBlocked' } }, /happens to the port/],
  [{ match: { method: 'GET' }, effect: { type: 'bootsDisk' } }, /happens to a machine/],
])('a rule that could never strike is refused: %j', async (rule, message) => {
  const { fake } = await startRobot();
  await expect(fake.addFault(rule as never)).rejects.toThrow(message);
  expect(fake.faults()).toEqual([]);
});

test('the emulator ends while requests hang and a command runs', async () => {
  const robot = await startRobot();
  const key = await robot.rescue(newKey());
  await robot.fault({ type: 'hang', phase: 'before' }, { match: { method: 'GET' } });
  await robot.fault({ type: 'latency', ms: 1_000 }, { match: { method: 'POST' } });
  const before = robot.fake.requests().length;
  const asked = [
    robot.ask('GET', '/server'),
    robot.post('/wol/321', ''),
    robot.shell(key, 'sleep infinity'),
  ];
  const ends = Promise.allSettled(asked);
  await expect.poll(() => robot.fake.requests().length).toBe(before + 2);
  await robot.fake.close();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});
