import { expect, test } from 'vitest';
import { createMemoryRecords } from '../../../../../src/adapters/driver-kit/stand-ins.ts';
import {
  type ClaimValue,
  createClaims,
} from '../../../../../src/adapters/provider/redfish/install/claims.ts';
import { providerName } from '../../../../../src/domain/ids.ts';
import { createSeededRandom } from '../../../../doubles/simulated-clock.ts';
import { failureOf } from '../stand.ts';
import { startInstalls, WITNESS } from './stand.ts';

const FOREIGN = 'shep:othe1-othe1-othe1othe1othe1';

test('a mark of another fleet that nobody had read yet keeps a machine from being installed', async () => {
  const rack = await startInstalls({ settings: { powerPoll: '2h' } });
  const request = await rack.request();
  await rack.inTime(rack.raw.ask('PATCH', rack.path, { body: { AssetTag: FOREIGN } }));
  const call = rack.call({ operationId: WITNESS });
  const made = rack.inTime(rack.provider.createMachine(request, call));
  expect(await failureOf(made)).toMatchObject({ kind: 'race-lost', outcome: 'not-done' });
  expect(rack.resets()).toEqual([]);
  expect(rack.sent('PATCH')).toHaveLength(1);
  expect(await rack.claim()).toBeUndefined();
});

test('a BMC that hangs does not keep a rack without records from being prepared', async () => {
  const rack = await startInstalls({ systems: 2 });
  await rack.fault({ type: 'hang', phase: 'before' }, { match: { bmc: 'bmc-2' } });
  const limit = new AbortController();
  const timer = rack.clock.setTimeout(() => limit.abort(new Error('its time is over')), 30_000);
  await rack.inTime(rack.provider.prepare!(rack.call({ signal: limit.signal })));
  rack.clock.clearTimeout(timer);
  expect(rack.log.count('not all machines told whether they carry a mark')).toBe(1);
});

test('a reading of the records that began before a claim was made does not hide it', async () => {
  const rack = await startInstalls();
  await rack.create();
  const claim = (await rack.record())!.value as unknown as ClaimValue;
  const table = createMemoryRecords(createSeededRandom(7))(providerName('rack'));
  const signal = new AbortController().signal;
  const slow = Promise.withResolvers<void>();
  const claims = createClaims({
    ...table,
    async all(options) {
      const all = await table.all(options);
      await slow.promise;
      return all;
    },
  });
  const reading = claims.read(signal);
  await claims.make('system-1', claim, signal);
  slow.resolve();
  await reading;
  expect(claims.known().claims.get('system-1')).toMatchObject({ witness: WITNESS });
  const { claims: later } = await claims.read(signal);
  await claims.drop(later.get('system-1')!, signal);
  expect((await claims.read(signal)).claims.size).toBe(0);
});

test('a rack that was opened listens nowhere until somebody uses it', async () => {
  const rack = await startInstalls();
  const look = () => rack.ask('/m/02:00:00:00:00:01/ipxe').then(({ status }) => status);
  await expect(look()).rejects.toThrow('ECONNREFUSED');
  await rack.free();
  expect(await look()).toBe(404);
});

test('a BMC that hangs is not restarted while a machine behind it is being installed', async () => {
  const rack = await startInstalls({ install: { window: '4h' }, settings: { bmcReset: true } });
  await rack.prepare();
  await rack.after(120_000);
  await rack.create();
  await rack.fault({ type: 'bmcHangs' });
  await rack.after(3_600_000);
  const id = 'system-1.11112222';
  expect((await rack.get(id)).controller).toMatchObject({ hangs: true });
  const restarted = rack.inTime(rack.provider.resetController!(id, rack.call()));
  expect(await failureOf(restarted)).toMatchObject({
    kind: 'conflict',
    text: expect.stringContaining('is being installed') as string,
  });
  expect(rack.sent('POST').filter(({ route }) => route.endsWith('Manager.Reset'))).toEqual([]);
});

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
