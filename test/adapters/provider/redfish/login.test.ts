import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/adapters/clock/system-clock.ts';
import { testRows } from '../../../support/rows.ts';
import { failureOf, refusing, startRack } from './stand.ts';

const MINUTE = 60_000;
const LOGIN = { method: 'POST', route: '/redfish/v1/SessionService/Sessions' };
const FULL = refusing(503, 'RAC0218');

testRows([
  ['is not the one of the inventory', {}, { type: 'certificate' }],
  ['nobody vouches for', { entry: () => ({ CertSha256: undefined }) }, null],
] as const)(
  'vector 3: a certificate that %s: its hash is told, and nothing is sent',
  async (_, options, fault) => {
    const rack = await startRack({ wire: systemClock, ...options });
    if (fault) await rack.fault(fault);
    const failure = await failureOf(rack.reboot());
    expect(failure).toMatchObject({ kind: 'auth', outcome: 'not-done' });
    expect(failure.text).toContain(rack.fake.bmcs()[0]!.certSha256);
    expect(rack.fake.requests()).toEqual([]);
  },
);

test('vector 4: a session that the BMC forgot is replaced by one, and the request repeated once', async () => {
  const rack = await startRack();
  await rack.boot();
  await rack.get();
  await rack.after(11 * MINUTE);
  await rack.fault({ type: 'sessionsForgotten' });
  const seq = rack.fake.requests().at(-1)!.seq;
  expect(await rack.get()).toMatchObject({ power: 'on' });
  const later = rack.fake.requests(seq).map(({ method, status }) => `${method} ${status}`);
  expect(later.filter((one) => one === 'POST 201')).toHaveLength(1);
  expect(later.filter((one) => one.startsWith('GET 401'))).toHaveLength(1);
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 1, sessionsMost: 1 });
});

test('vector 5: a refused login is not tried again before its pause is over, or the secret is another', async () => {
  const rack = await startRack({ secret: 'wrong-password' });
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'auth' });
  const { length } = rack.fake.requests();
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'auth' });
  await rack.after(9 * MINUTE);
  expect(await failureOf(rack.power('off'))).toMatchObject({ kind: 'auth' });
  expect(rack.fake.requests()).toHaveLength(length);
  await rack.after(2 * MINUTE);
  expect(await failureOf(rack.power('off'))).toMatchObject({ kind: 'auth' });
  expect(rack.fake.requests().length).toBeGreaterThan(length);
  rack.env['BMC_PASSWORD'] = rack.fake.credentials.password;
  await rack.power('off');
});

test('vector 6: where all sessions are taken, auto goes on by Basic for a while', async () => {
  const rack = await startRack({});
  await rack.fault(FULL, { match: LOGIN, times: 1 });
  await rack.power('on');
  expect(rack.sent('GET').at(-1)).toMatchObject({ auth: 'basic', status: 200 });
  await rack.after(6 * MINUTE);
  await rack.power('off');
  expect(rack.sent('POST').at(-1)).toMatchObject({ auth: 'session' });
});

test('vector 6: where all sessions are taken, session waits for five minutes', async () => {
  const rack = await startRack({ settings: { auth: 'session' } });
  await rack.fault(FULL, { match: LOGIN });
  const failure = await failureOf(rack.reboot());
  expect(failure).toMatchObject({ kind: 'transient', outcome: 'not-done' });
  const inMs = failure.rateLimit!.retryAt.getTime() - rack.clock.now();
  expect(Math.round(inMs / MINUTE)).toBe(5);
});

test('vector 7: a login without a token: Basic, or an end to it', async () => {
  const rack = await startRack();
  await rack.fault({ type: 'noToken' });
  await rack.power('on');
  expect(rack.sent('POST').at(-1)).toMatchObject({ auth: 'basic', status: 204 });
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });

  const strict = await startRack({ settings: { auth: 'session' } });
  await strict.fault({ type: 'noToken' });
  expect(await failureOf(strict.power('on'))).toMatchObject({ kind: 'permanent' });
  expect(strict.fake.bmcs()[0]!.sessions).toBe(0);
});

test('vector 35: stop ends three sessions by three requests', async () => {
  const rack = await startRack({ systems: 3 });
  for (const id of ['system-1', 'system-2', 'system-3']) await rack.get(id);
  expect(rack.fake.bmcs().map(({ sessions }) => sessions)).toEqual([1, 1, 1]);
  const startMs = rack.clock.monotonic();
  await rack.inTime(rack.provider.stop());
  expect(rack.sent('DELETE')).toHaveLength(3);
  expect(rack.fake.bmcs().map(({ sessions }) => sessions)).toEqual([0, 0, 0]);
  expect(rack.clock.monotonic() - startMs).toBeLessThanOrEqual(10_000);
  expect(await failureOf(rack.get())).toMatchObject({ kind: 'stopped' });
});

test('vector 35: a BMC that does not answer holds nobody up at the stop', async () => {
  const rack = await startRack();
  await rack.get();
  await rack.fault({ type: 'hang', phase: 'before' });
  const startMs = rack.clock.monotonic();
  await rack.inTime(rack.provider.stop());
  expect(rack.clock.monotonic() - startMs).toBeLessThanOrEqual(10_000);
});

const OWN = '/redfish/v1/SessionService/Sessions/1';

test.each([`https://ilo.rack.example${OWN}`, OWN, 'https://elsewhere.example/else'])(
  'a session is ended at its own BMC, however that names it: %s',
  async (location) => {
    const rack = await startRack();
    await rack.fault({ type: 'headers', headers: { location } }, { match: LOGIN });
    await rack.get();
    await rack.inTime(rack.provider.stop());
    expect(rack.sent('DELETE').map(({ path, status }) => [path, status])).toEqual([[OWN, 204]]);
  },
);

test('a wrong password that a BMC answers with 400 is not tried again before the pause is over', async () => {
  const rack = await startRack();
  await rack.fault(refusing(400, 'UnauthorizedLoginAttempt'), { match: LOGIN });
  await failureOf(rack.reboot());
  expect(await failureOf(rack.reboot())).toMatchObject({ kind: 'auth' });
  expect(rack.sent('POST')).toHaveLength(1);
});

test('a login whose caller leaves leaves no session that nobody ends', async () => {
  const rack = await startRack({ settings: { powerPoll: '2h' } });
  await rack.fault({ type: 'latency', ms: 1_000 }, { match: LOGIN });
  const leaving = new AbortController();
  rack.clock.setTimeout(() => leaving.abort(new Error('left')), 500);
  const how = rack.call({ signal: leaving.signal });
  expect(await failureOf(rack.power('on', how))).toMatchObject({ kind: 'aborted' });
  await rack.after(5_000);
  await rack.power('on');
  await rack.inTime(rack.provider.stop());
  expect(rack.fake.bmcs()[0]).toMatchObject({ sessions: 0, sessionsMost: 1 });
});

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
  for (const counts of most()) expect(Math.max(...counts)).toBeLessThanOrEqual(2);
  expect(rack.resets()).toEqual(['On', 'On', 'On', 'On']);
});
