import { expect, test } from 'vitest';
import { startRack } from './stand.ts';

/** Two polls of the driver later. */
const POLL = { settings: { powerPoll: '1m' } };
const POLLED_MS = 150_000;
const LOG = /LogServices/;

test('reports the health of the hardware, with the newest critical entry of the log', async () => {
  const rack = await startRack(POLL);
  const conditions = async () => {
    await rack.after(POLLED_MS);
    return (await rack.list()).machines[0]!.conditions;
  };
  const type = 'hardware-unhealthy';
  rack.fake.setHealth('system-1', 'Critical', 'an old story');
  rack.fake.setHealth('system-1', 'OK');
  await rack.prepare();
  const ok = [{ type, status: 'False', reason: 'its BMC reports OK', detail: '' }];
  expect(await conditions()).toEqual(ok);
  expect(rack.sent('GET').filter(({ path }) => LOG.test(path))).toEqual([]);
  rack.fake.setHealth('system-1', 'Warning');
  const warning = { type, status: 'True', reason: 'its BMC reports Warning', detail: '' };
  expect(await conditions()).toEqual([warning]);
  rack.fake.setHealth('system-1', 'Critical', 'fan 1 failed');
  await rack.after(1_000);
  rack.fake.setHealth('system-1', 'Critical', 'fan 2 failed');
  await rack.after(1_000);
  rack.fake.setHealth('system-1', 'OK', 'somebody looked at it');
  rack.fake.setHealth('system-1', 'Critical');
  const critical = { ...warning, reason: 'its BMC reports Critical', detail: 'fan 2 failed' };
  expect(await conditions()).toEqual([critical]);
  rack.fake.setHealth('system-1', 'OK');
  expect(await conditions()).toEqual(ok);
});

test('reports the power state and the health where the log cannot be read, which is tried once', async () => {
  const rack = await startRack(POLL);
  const route = '/redfish/v1/Systems/{system}/LogServices/Log/Entries';
  await rack.fault({ type: 'status', code: 500 }, { match: { route } });
  rack.fake.setHealth('system-1', 'Critical', 'fan 1 failed');
  await rack.prepare();
  await rack.after(POLLED_MS);
  expect((await rack.list()).machines).toMatchObject([
    { power: 'off', conditions: [{ status: 'True', detail: '' }] },
  ]);
  await rack.after(2 * POLLED_MS);
  expect(rack.sent('GET').filter((entry) => entry.route === route)).toHaveLength(1);
  expect(await rack.get()).toMatchObject({ power: 'off' });
});

test('reports nothing about the health of a machine whose BMC is silent', async () => {
  const rack = await startRack(POLL);
  rack.fake.setHealth('system-1', 'Critical');
  await rack.fault({ type: 'refuse' });
  await rack.prepare();
  await rack.after(POLLED_MS);
  expect((await rack.list()).machines[0]).not.toHaveProperty('conditions');
  rack.fake.clearFaults();
});
