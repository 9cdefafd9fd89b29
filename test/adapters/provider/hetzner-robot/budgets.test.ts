import { expect, test } from 'vitest';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { failureOf, how, OK, urgently, useClientStand } from './client-stand.ts';

const stand = useClientStand();

test('vector 24: the budget of resets: what is kept is for give-backs and what is forced', async () => {
  const client = stand.open();
  stand.peer.answers = () => ({ status: 200, body: { reset: { type: 'sw' } } });
  const results: string[] = [];
  for (let n = 0; n < 45; n++) {
    const error = await failureOf(client.reset(321, 'sw', how));
    results.push(error === null ? 'sent' : `${error.kind} ${(stand.inMs(error) ?? 0) > 0}`);
  }
  expect(results.filter((text) => text === 'sent')).toHaveLength(35);
  expect(new Set(results.slice(35))).toEqual(new Set(['transient true']));
  const sent = stand.peer.seen.length;
  expect(await failureOf(client.reset(321, 'sw', how))).toMatchObject({ kind: 'transient' });
  expect(stand.peer.seen).toHaveLength(sent);
  await client.reset(321, 'hw', urgently);
  expect(stand.peer.seen).toHaveLength(sent + 1);
  stand.clock.increment(3_600_001);
  await client.reset(321, 'sw', how);
});

test('vector 25: a daemon that starts again after 40 resets has 5 left', async () => {
  stand.peer.answers = () => ({ status: 200, body: { reset: { type: 'hw' } } });
  const first = stand.open();
  for (let n = 0; n < 40; n++) await first.reset(321, 'hw', urgently);
  for (let life = 0; life < 2; life++) {
    const next = stand.open();
    await next.takeOverCounts(how.signal);
    const kept = (await stand.records.all(how)).filter(({ key }) => key.startsWith('calls/'));
    expect(kept).toHaveLength(1);
  }
  const last = stand.open();
  const results: (string | null)[] = [];
  for (let n = 0; n < 7; n++) {
    results.push((await failureOf(last.reset(321, 'hw', urgently)))?.kind ?? null);
  }
  expect(results).toEqual([null, null, null, null, null, 'transient', 'transient']);
});

test('vector 25: one that was killed counts as alive for a while; what it sent is spent all the same', async () => {
  stand.peer.answers = () => ({ status: 200, body: { reset: { type: 'hw' } } });
  const first = stand.open();
  for (let n = 0; n < 45; n++) await first.reset(321, 'hw', urgently);
  let alive = 2;
  const next = stand.open(() => alive);
  for (let n = 0; n < 3; n++) {
    const error = await failureOf(next.reset(321, 'hw', urgently));
    expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
    expect(stand.inMs(error)).toBeGreaterThan(0);
  }
  alive = 1;
  await next.takeOverCounts(how.signal);
  expect(await failureOf(next.reset(321, 'hw', urgently))).toMatchObject({ kind: 'transient' });
  expect(stand.peer.seen).toHaveLength(45);
  stand.clock.increment(3_700_000);
  await next.reset(321, 'hw', urgently);
});

test('what a daemon beside us sends is known before each reset', async () => {
  stand.peer.answers = () => ({ status: 200, body: { reset: { type: 'hw' } } });
  const [one, other] = [stand.open(1), stand.open(2)];
  await other.reset(321, 'hw', urgently);
  for (let n = 0; n < 44; n++) await one.reset(321, 'hw', urgently);
  expect(await failureOf(other.reset(321, 'hw', urgently))).toMatchObject({ kind: 'transient' });
  expect(await failureOf(one.reset(321, 'hw', urgently))).toMatchObject({ kind: 'transient' });
  expect(stand.peer.seen).toHaveLength(45);
});

test('vector 25: of every path a daemon that is killed leaves all but a few requests counted', async () => {
  const limits = { 'GET /server': 40 };
  const first = stand.open(1, limits);
  for (let n = 0; n < 34; n++) await first.listServers(how);
  const next = stand.open(2, limits);
  let sent = 0;
  while ((await failureOf(next.listServers(how))) === null) sent += 1;
  expect(sent).toBeLessThan(7);
});

test('a daemon beside us that lives is not taken for gone', async () => {
  stand.peer.answers = () => ({ status: 200, body: { reset: { type: 'hw' } } });
  const [one, other] = [stand.open(2), stand.open(2)];
  for (let n = 0; n < 10; n++) await one.reset(321, 'hw', urgently);
  await other.takeOverCounts(how.signal);
  for (let n = 0; n < 20; n++) await other.reset(321, 'hw', urgently);
  const keys = (await stand.records.all(how)).map(({ key }) => key);
  expect(keys.filter((key) => key.startsWith('calls/'))).toHaveLength(2);
});

test('vector 25: also one that cannot write yet, as it has no session, knows what is spent, and counts it once', async () => {
  stand.peer.answers = ({ line }) =>
    line === 'GET /server' ? OK : { status: 200, body: { reset: { type: 'hw' } } };
  const first = stand.open();
  for (let n = 0; n < 40; n++) await first.reset(321, 'hw', urgently);
  const { records } = stand;
  let hasSession = false;
  const refused = () => Promise.reject(new ProviderError('aborted', 'there is no session'));
  stand.records = {
    all: (options) => records.all(options),
    make: (...args) => (hasSession ? records.make(...args) : refused()),
    replace: (...args) => (hasSession ? records.replace(...args) : refused()),
    drop: (...args) => (hasSession ? records.drop(...args) : refused()),
  };
  const next = stand.open();
  await next.listServers(how);
  expect(await failureOf(next.reset(321, 'hw', urgently))).toMatchObject({ kind: 'aborted' });
  expect(await failureOf(next.takeOverCounts(how.signal))).toMatchObject({ kind: 'aborted' });
  hasSession = true;
  for (let n = 0; n < 2; n++) await next.reset(321, 'hw', urgently);
  await next.takeOverCounts(how.signal);
  for (let n = 0; n < 2; n++) await next.reset(321, 'hw', urgently);
  expect(await failureOf(next.reset(321, 'hw', urgently))).toMatchObject({ kind: 'transient' });
  const rows = (await stand.records.all(how)).filter(({ key }) => key.startsWith('calls/'));
  expect(rows).toHaveLength(1);
});
