import { expect, test } from 'vitest';
import { failureOf, type Rack, startRack } from './stand.ts';

const MINUTE = 60_000;
const BMC_RESET = '/redfish/v1/Managers/{manager}/Actions/Manager.Reset';
const restarts = (rack: Rack) =>
  rack.sent('POST').filter(({ route, executed }) => route === BMC_RESET && executed);
const controllerOf = async (rack: Rack) => (await rack.get()).controller;
const restart = (rack: Rack, how = rack.call()) =>
  rack.inTime(rack.provider.resetController!('system-1', how));
const counts = (rack: Rack) =>
  rack.metrics.calls
    .filter(({ name }) => name === 'redfish_bmc_unresponsive')
    .map(({ value }) => value);

/** Readings end in 500; what is posted gets through. */
async function hang(rack: Rack, bmc: string) {
  const match = { bmc, method: 'GET', route: '/redfish/v1/Systems/{system}' };
  return rack.fault({ type: 'status', code: 500 }, { match });
}

test('a BMC that takes connections and answers nothing is told of, and left as it is where no more is allowed', async () => {
  const rack = await startRack({ systems: 2 });
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await hang(rack, 'bmc-1');
  await rack.after(60 * MINUTE);
  expect(counts(rack)).toEqual([1]);
  expect(rack.log.count('a BMC takes connections and answers nothing')).toBe(1);
  expect(restarts(rack)).toEqual([]);
  expect(await controllerOf(rack)).toBeUndefined();
  expect(rack.provider.capabilities.resetController).toBe(false);
  expect(rack.provider.resetController).toBeUndefined();
  rack.fake.clearFaults();
  await rack.after(10 * MINUTE);
  expect(counts(rack)).toEqual([1, 0]);
});

test('one that refuses connections does not hang', async () => {
  const rack = await startRack({ settings: { bmcReset: true } });
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await rack.fault({ type: 'refuse' });
  await rack.after(60 * MINUTE);
  expect(counts(rack)).toEqual([]);
});

const MAY = { settings: { bmcReset: true } };
/** Nothing can be read of the first BMC, for so long that it is known. */
async function hung(options: Parameters<typeof startRack>[0] = MAY): Promise<Rack> {
  const rack = await startRack(options);
  await rack.prepare();
  await rack.after(2 * MINUTE);
  await rack.fault({ type: 'bmcHangs' }, { match: { bmc: 'bmc-1' } });
  await rack.after(60 * MINUTE);
  return rack;
}

test('one that hangs is shown so, restarted when that is ordered, and shown well once it answers', async () => {
  const rack = await hung();
  const { id } = (await controllerOf(rack))!;
  expect(id).toBe(new URL(rack.fake.bmcs()[0]!.url).host);
  expect(await rack.get()).toMatchObject({ power: 'unknown', controller: { id, hangs: true } });
  expect((await rack.list()).machines).toMatchObject([{ controller: { id, hangs: true } }]);
  expect(restarts(rack), 'by itself').toEqual([]);
  const { operationRef } = await restart(rack);
  expect(operationRef).toMatch(/^GracefulRestart https:/);
  expect(rack.asked).toEqual(['ours system-1', 'before']);
  expect(restarts(rack)).toMatchObject([{ body: { ResetType: 'GracefulRestart' } }]);
  expect(await controllerOf(rack), 'an accepted request is no evidence').toMatchObject({
    hangs: true,
  });
  await rack.after(MINUTE / 2);
  expect(await controllerOf(rack), 'nor is one that is not there').toMatchObject({ hangs: true });
  await rack.after(10 * MINUTE);
  expect(await rack.get()).toMatchObject({ power: 'off', controller: { id, hangs: false } });
  expect(counts(rack)).toEqual([1, 0]);
  expect(await failureOf(restart(rack)), 'it answers').toMatchObject({ kind: 'conflict' });
});

test('nothing is sent if the machine is not ours, or it is not wanted any more', async () => {
  const rack = await hung();
  const no = () => Promise.reject(new Error('no'));
  const foreign = () => {
    throw new Error('foreign');
  };
  await expect(restart(rack, rack.call({ beforeSending: no }))).rejects.toThrow('no');
  await expect(restart(rack, rack.call({ requireOurs: foreign }))).rejects.toThrow('foreign');
  expect(restarts(rack)).toEqual([]);
});

test('where others begin to answer nothing it is the network, and none is restarted', async () => {
  const rack = await hung({ systems: 3, ...MAY });
  await hang(rack, 'bmc-2');
  await rack.after(10 * MINUTE);
  expect(counts(rack)).toEqual([1]);
  expect(await failureOf(restart(rack))).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(restarts(rack)).toEqual([]);
  rack.fake.clearFaults();
  await rack.after(10 * MINUTE);
  await restart(rack);
  expect(restarts(rack)).toHaveLength(1);
});

test('one that hung and takes no connections any more is away', async () => {
  const rack = await hung();
  await rack.fault({ type: 'refuse' });
  await rack.after(30 * MINUTE);
  expect(await controllerOf(rack)).toMatchObject({ hangs: false });
  expect(counts(rack)).toEqual([1, 0]);
});
