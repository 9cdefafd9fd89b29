import { expect, test } from 'vitest';
import { explain } from '../../../../src/domain/errors.ts';
import type { FaultRule } from '../../../../emulators/redfish/faults.ts';
import { startRack } from './stand.ts';

test('two daemons on one rack: one request at a time and one session of each, however much is asked', async () => {
  const rack = await startRack({ systems: 4, bmcs: 2, settings: { powerPoll: '1m' } });
  await rack.fault({ type: 'latency', ms: 50 });
  const ids = Array.from({ length: 4 }, (_, n) => `system-${n + 1}`);
  const ask = (provider: typeof rack.provider) =>
    Promise.all([
      provider.prepare!(rack.call()),
      ...ids.map((id) => provider.getMachine(id, rack.call())),
      ...ids.map((id) => provider.setPower!(id, 'on', rack.call())),
    ]);
  const most = () => rack.fake.bmcs().map((bmc) => [bmc.requestsMost, bmc.sessionsMost]);
  await rack.inTime(ask(rack.provider));
  expect(most()).toEqual([
    [1, 1],
    [1, 1],
  ]);
  await rack.after(5_000);
  const other = rack.open();
  await rack.inTime(Promise.all([ask(rack.provider), ask(other)]));
  expect(
    most()
      .flat()
      .every((count) => count <= 2),
  ).toBe(true);
  expect(rack.resets()).toEqual(['On', 'On', 'On', 'On']);
});

test('secrets are in no log, error or metric, whatever a BMC makes of them', async () => {
  const rack = await startRack({ settings: { ownerMark: 'assetTag', powerPoll: '1m' } });
  const { password } = rack.fake.credentials;
  const planted = 'planted-in-a-reply-4711';
  await rack.raw.ask('PATCH', rack.path, { body: { AssetTag: planted } });
  const errors: unknown[] = [];
  const attempt = (promise: Promise<unknown>) =>
    promise.catch((error: unknown) => void errors.push(error));
  await rack.prepare();
  await attempt(rack.get());
  const effects: FaultRule['effect'][] = [
    { type: 'status', code: 500 },
    { type: 'status', code: 403 },
    { type: 'garbage', kind: 'html' },
    { type: 'status', code: 307, headers: { location: `https://admin:${password}@127.0.0.1:1/` } },
    { type: 'sessionsForgotten' },
    { type: 'certificate' },
  ];
  for (const effect of effects) {
    await rack.fault(effect);
    await attempt(rack.reboot());
    rack.fake.clearFaults();
  }
  rack.env['BMC_PASSWORD'] = 'another-password-0815';
  await rack.fault({ type: 'sessionsForgotten' });
  await attempt(rack.reboot());
  expect(errors.length).toBeGreaterThan(4);
  const told = [
    JSON.stringify(rack.log.lines),
    JSON.stringify(rack.metrics.calls),
    ...errors.map((error) => `${explain(error)} ${(error as Error).stack}`),
  ].join('\n');
  const basic = Buffer.from(`admin:${password}`).toString('base64');
  for (const secret of [password, basic, 'another-password-0815', planted]) {
    expect(told).not.toContain(secret);
  }
});
