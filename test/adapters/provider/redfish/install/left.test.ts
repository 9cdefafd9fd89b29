import { expect, test } from 'vitest';
import { failureOf } from '../stand.ts';
import { startInstalls } from './stand.ts';

test('a claimed machine whose entry has left is shown, not changed, and let go when it is given back', async () => {
  const rack = await startInstalls({ systems: 2, settings: { refresh: '1m' } });
  const { provider, inTime, call } = rack;
  const { id } = await rack.create();
  await rack.ask(`/s/${rack.token()}/done`, 'POST');
  await rack.until(async () => (await rack.claim())?.result?.isTidy === true);
  const entries = JSON.parse(rack.page.text) as object[];
  rack.page.text = JSON.stringify(entries.slice(1));
  await rack.after(61_000);

  const { machines, complete, unreadable } = await rack.list();
  expect([complete, unreadable]).toEqual([true, []]);
  const away = machines.find((machine) => machine.id === id);
  expect(away).toMatchObject({
    reservationId: 'system-1',
    availability: 'KnownUsed',
    plan: 'redfish',
    power: 'unknown',
    status: 'Unknown',
    tags: rack.tagsOf('11112222-0000-4000-8000-000000000001'),
  });
  expect(await rack.get(id!)).toEqual(away);
  await rack.list();
  expect(rack.log.count('a claimed machine is not in the inventory any more')).toBe(1);

  const sent = rack.fake.requests().length;
  const refused = await failureOf(inTime(provider.rebootMachine(id!, 'force', call())));
  expect(refused).toMatchObject({ kind: 'conflict', outcome: 'not-done' });
  expect(refused.text).toContain('put it back');
  expect(await inTime(provider.isReusable!('system-1', call()))).toBe(false);
  await inTime(provider.deprovisionMachine(id!, call()));
  expect(await rack.claim()).toBeUndefined();
  expect(rack.fake.requests()).toHaveLength(sent);
  expect((await rack.list()).machines).toHaveLength(1);
});
