import { expect, test } from 'vitest';
import { realClock } from '../../../emulators/kit/clock.ts';
import { testRows } from '../../support/rows.ts';
import { MINUTE, SECOND, startLatitude } from './harness.ts';

const HOUR = 60 * MINUTE;

test('deploys, reboots, switches, reinstalls and deletes a server in its times', async () => {
  const { fake, ask, create, act, reinstall, record } = await startLatitude();
  const [first, second] = [(await record('1')).data.id, (await record('2')).data.id];
  const made = await create('shep-ash-1', { user_data: first, raid: 'raid-1' });
  const { id } = made.data;
  const config = async () => (await ask('GET', `/servers/${id}/deploy_config`)).data.attributes;
  const before = await config();
  const change = { user_data: second, hostname: 'b', operating_system: 'debian_12_x64' };
  const steps: readonly [ask: (() => Promise<unknown>) | null, ms: number, status: string][] = [
    [null, 0, 'starting_deploy'],
    [null, 4 * SECOND, 'starting_deploy'],
    [null, SECOND, 'on'],
    // Which is a flash: the installation is yet to come.
    [async () => expect((await act(id, 'reboot')).status).toBe(422), 0, 'on'],
    [async () => expect((await reinstall(id)).status).toBe(422), 0, 'on'],
    [null, 20 * SECOND, 'deploying'],
    [null, 10 * MINUTE - 1, 'deploying'],
    [null, 1, 'on'],
    [() => act(id, 'power_off'), 5 * SECOND - 1, 'on'],
    [null, 1, 'off'],
    [() => reinstall(id), MINUTE - 1, 'disk_erasing'],
    [async () => expect(await config()).toEqual(before), 1, 'deploying'],
    [null, 10 * MINUTE, 'on'],
    [() => reinstall(id, { ...change, raid: 'raid-0' }), 11 * MINUTE, 'on'],
    [() => act(id, 'reboot'), MINUTE, 'on'],
  ];
  for (const [what, ms, status] of steps) {
    await what?.();
    await fake.advance(ms);
    const shown = (await ask('GET', `/servers/${id}`)).data.attributes['status'];
    expect([steps.length, ms, shown]).toEqual([steps.length, ms, status]);
  }
  expect(await config()).toMatchObject({ ...change, raid: 'raid-0' });
  expect(fake.servers()[0]?.hostname).toBe('b');
  expect((await ask('DELETE', `/servers/${id}`)).status).toBe(204);
  expect((await ask('GET', `/servers/${id}`)).errors).toMatchObject([{ code: 'not_found' }]);
  expect(fake.servers()).toEqual([]);
});

testRows([
  ['hourly', HOUR],
  ['monthly', 30 * 24 * HOUR],
] as const)('%s: deletes a server at the end of its cycle', async (billing, ms) => {
  const { fake, ask, running, server } = await startLatitude();
  const id = await running('a', { billing });
  const made = await ask('POST', `/servers/${id}/schedule_deletion`);
  const at = made.data.attributes['scheduled_deletion_at'];
  expect((await server(id))['scheduled_deletion_at']).toBe(at);
  await fake.advance(ms - 11 * MINUTE - 1);
  expect(fake.servers()).toHaveLength(1);
  await fake.advance(1);
  expect(fake.servers()).toEqual([]);
});

test('deploys a server by itself on the real clock, which cannot be advanced', async () => {
  const { fake, create } = await startLatitude({
    ...{ clock: realClock, profile: 'fast', timings: { deployingMs: 60 } },
  });
  await create('a');
  const status = async () => fake.servers()[0]?.status;
  await expect.poll(status).toBe('deploying');
  await expect.poll(status).toBe('on');
  await expect(fake.advance(1)).rejects.toThrow(/manual/);
});
