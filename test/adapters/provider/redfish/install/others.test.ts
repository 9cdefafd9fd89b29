import { expect, test } from 'vitest';
import { createMemoryRecords } from '../../../../../src/adapters/provider/core/memory-records.ts';
import {
  type ClaimValue,
  createClaims,
} from '../../../../../src/adapters/provider/redfish/install/claims.ts';
import { providerName } from '../../../../../src/domain/ids.ts';
import { createSeededRandom } from '../../../../doubles/simulated-clock.ts';
import { failureOf } from '../stand.ts';
import { startInstalls, WITNESS } from './stand.ts';

const CLAIM: ClaimValue = {
  set: 'set',
  witness: WITNESS,
  hostname: 'a1',
  place: null,
  order: 'create',
  tags: {},
  install: {
    method: 'vmedia',
    template: null,
    phase: 'preparing',
    tokenSha256: '',
    sealed: null,
    askedAtMs: 0,
    deadlineMs: 0,
    isAnswered: false,
  },
  result: null,
};
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
  await claims.make('system-1', CLAIM, signal);
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
