import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import type { Boot } from '../../../src/simulator/fakefish/power.ts';
import { insert, rename } from './fault-steps.ts';
import { messagesOf, ROOT, startFish } from './harness.ts';
import { MACHINE_FAULTS } from './machine-faults.ts';
import { WIRE_FAULTS } from './wire-faults.ts';
import { testRows } from '../../support/rows.ts';

const FAULTS = [...WIRE_FAULTS, ...MACHINE_FAULTS];

test('every fault of the list has its proof', () => {
  const numbers = [...FAULTS.map(([number]) => number), 29].toSorted((a, b) => a - b);
  expect(numbers).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
});

testRows(FAULTS)('shows fault %i: %s', async (_number, _what, proof) => {
  await proof(await startFish());
});

testRows(['fails', 'hangs', 'silent'] as const)(
  'fault 29: the host is told that its installer %s',
  async (does) => {
    const boots: Boot[] = [];
    const { fault, override, start } = await startFish({
      hooks: { down: async () => undefined, boot: async (_name, boot) => void boots.push(boot) },
    });
    await fault({ type: 'installer', does }, { match: { system: 'system-1' }, times: 1 });
    await override({ BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Pxe' });
    await start();
    expect(boots).toMatchObject([{ source: 'Pxe', installer: does }]);
  },
);

test('a login without a token, an insertion that wants a parameter, and 406 to identity', async () => {
  const fish = await startFish();
  await fish.fault({ type: 'identityRefused' });
  const headers = { 'accept-encoding': 'identity' };
  expect((await fish.ask('GET', fish.path, { headers })).status).toBe(406);
  expect((await fish.ask('GET', fish.path)).status).toBe(200);
  await fish.fault({ type: 'noToken' }, { times: 1 });
  const made = await fish.login();
  expect([made.status, made.headers['x-auth-token']]).toEqual([201, undefined]);
  await fish.fault({ type: 'mediaWants', parameter: 'TransferProtocolType' });
  const refused = await insert(fish);
  expect(messagesOf(refused)).toEqual(['ActionParameterMissing']);
  expect(JSON.stringify(refused.body)).toContain('"RelatedProperties":["#/TransferProtocolType"]');
  expect((await insert(fish, { TransferProtocolType: 'HTTPS' })).status).toBe(204);
});

test('a rule strikes the BMC and the system that it names', async () => {
  const fish = await startFish({ systems: 3, bmcs: 2 });
  await fish.fault({ type: 'status', code: 500 }, { match: { bmc: 'bmc-1' } });
  await fish.fault({ type: 'status', code: 501 }, { match: { system: 'system-3' } });
  const status = async (bmc: number, id: number) =>
    (await fish.ask('GET', `${ROOT}/Systems/${id}`, { bmc })).status;
  expect([await status(0, 1), await status(1, 1), await status(1, 2)]).toEqual([500, 200, 501]);
  await fish.fake.clearFaults();
  expect(await status(0, 1)).toBe(200);
});

testRows([
  [{ effect: { type: 'unheard' } }, /effect/],
  [{ match: { route: '/nowhere' }, effect: { type: 'licence' } }, /no route/],
  [{ match: { bmc: 'bmc-9' }, effect: { type: 'licence' } }, /no BMC/],
  [{ match: { system: 'system-9' }, effect: { type: 'licence' } }, /no system/],
  [{ match: { nth: 2 }, effect: { type: 'refuse' } }, /at once/],
])('a rule that could never strike is refused: %j', async (rule, message) => {
  const { fake } = await startFish();
  await expect(fake.addFault(rule as never)).rejects.toThrow(message);
  expect(fake.faults()).toEqual([]);
});

test('the emulator ends while a request hangs and another waits', async () => {
  const fish = await startFish();
  await fish.fault({ type: 'hang', phase: 'before' }, { match: { method: 'GET' } });
  await fish.fault({ type: 'latency', ms: 1_000 }, { match: { method: 'PATCH' } });
  const asked = [fish.ask('GET', fish.path), rename(fish)];
  const ends = Promise.allSettled(asked);
  await expect.poll(() => fish.fake.requests().length).toBe(2);
  const { port } = new URL(fish.fake.bmcs()[0]!.url);
  await fish.fake.close();
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const next = createServer();
  await new Promise<void>((resolve) => next.listen(Number(port), '127.0.0.1', resolve));
  await new Promise((resolve) => next.close(resolve));
});
