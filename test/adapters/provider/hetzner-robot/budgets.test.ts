import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  classifyName,
  freeName,
  leavingName,
  machineIdOf,
  ourName,
  serverOfId,
  serverOfSlot,
  witnessOfText,
  witnessText,
} from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { failureOf, how, OK, urgently, useClientStand } from './client-stand.ts';
import { callOf, createStand, orderOf, type Stand } from './setup.ts';

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

/** Requests by method and path, without those of the listing that each minute costs anyway. */
function costOf({ world }: Stand): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const what of world.asked.splice(0)) {
    const [, method, path] = /^(GET|POST|DELETE) (\/[a-z]+)\/?/.exec(what) ?? [];
    if (method === undefined || /^GET \/server$|\/key/.test(what)) continue;
    counts[`${method} ${path}`] = (counts[`${method} ${path}`] ?? 0) + 1;
  }
  return counts;
}

test('what each order costs is what the documents say', async () => {
  const stand = createStand();
  const { provider, run, pass, world } = stand;
  const { id } = await run(stand.create());
  await pass(400_000);
  expect(costOf(stand)).toEqual({
    'GET /server': 2,
    'POST /server': 1,
    'GET /boot': 1,
    'POST /boot': 1,
    'GET /reset': 1,
    'POST /reset': 1,
  });
  await run(provider.rebootMachine(id!, 'graceful', callOf()));
  expect(costOf(stand)).toEqual({ 'GET /reset': 1, 'GET /boot': 1, 'POST /reset': 1 });
  await pass(100_000);
  world.machine(321).disk = { ...world.machine(321).disk!, isClosed: true };
  await run(provider.reinstallMachine(id!, orderOf('s9'), callOf()));
  await pass(900_000);
  expect(costOf(stand)).toEqual({
    'GET /server': 1,
    'GET /boot': 1,
    'POST /boot': 1,
    'GET /reset': 1,
    'POST /reset': 1,
  });
  await run(provider.deprovisionMachine(id!, callOf()));
  const isFree = () => run(provider.isReusable!('321', callOf()));
  while (!(await isFree())) await pass(10_000);
  expect(costOf(stand)).toEqual({
    'GET /server': 2,
    'POST /server': 2,
    'GET /boot': 1,
    'POST /boot': 1,
    'GET /reset': 1,
    'POST /reset': 1,
  });
});

const WITNESS = '0b6e0000-1234-4abc-8def-0123456789ab';
const PREFIXES = { namePrefix: 'shep-prod-', freePrefix: 'free-' };

test('a witness is 26 digits of base32, and comes back', () => {
  expect(witnessText(WITNESS)).toMatch(/^[a-z2-7]{26}$/);
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      expect(witnessOfText(witnessText(uuid))).toBe(uuid);
    }),
  );
});

test('its text is that of RFC 4648, in small letters', () => {
  expect(witnessText('00000000-0000-0000-0000-000000000000')).toBe('a'.repeat(26));
  expect(witnessText('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe(`${'7'.repeat(25)}4`);
  expect(witnessText('666f6f62-6172-6162-6364-656667686970')).toBe('mzxw6ytbojqwey3emvtgo2djoa');
});

test('what is no witness is none', () => {
  for (const text of ['', 'a'.repeat(25), 'a'.repeat(27), `${'a'.repeat(25)}b`, 'A'.repeat(26)]) {
    expect(witnessOfText(text)).toBeNull();
  }
  expect(() => witnessText('not-a-uuid')).toThrow('no UUID');
});

test('vector 2: one is free, one is ours, one is neither', () => {
  const names = ['free-a', ourName(PREFIXES, WITNESS), 'mail1', leavingName(PREFIXES, 321)];
  expect(names.map((name) => classifyName(name, PREFIXES))).toEqual([
    { kind: 'free' },
    { kind: 'ours', witness: WITNESS },
    { kind: 'other' },
    { kind: 'leaving' },
  ]);
  expect(classifyName('shep-prod-old', PREFIXES)).toEqual({ kind: 'other' });
});

test('the longest name has 47 characters of [a-z0-9-]', () => {
  const longest = { namePrefix: `${'p'.repeat(20)}-`, freePrefix: `${'f'.repeat(20)}-` };
  expect(ourName(longest, WITNESS)).toMatch(/^[a-z0-9-]{47}$/);
  expect(leavingName(longest, 999_999_999).length).toBeLessThanOrEqual(47);
  expect(freeName(longest, 321)).toBe(`${longest.freePrefix}321`);
});

test('an id is the server and the beginning of the witness', () => {
  const id = machineIdOf(321, WITNESS);
  expect(id).toBe(`321-${witnessText(WITNESS).slice(0, 8)}`);
  expect(serverOfId(id)).toBe(321);
  for (const other of ['321', '0-aaaaaaaa', '321-aaaa', '321-aaaaaaaa-x', 'x']) {
    expect(serverOfId(other)).toBeNull();
  }
  expect([serverOfSlot('321'), serverOfSlot('0321'), serverOfSlot('x')]).toEqual([321, null, null]);
});

const page = readFileSync(join(import.meta.dirname, '../../../../docs/hetzner-robot.md'), 'utf8');

test('the configuration of the page is complete and valid', () => {
  const [, text] = /```yaml\n([^]*?)```/.exec(page)!;
  const { providers } = parse(text!) as { providers: Record<string, unknown> };
  const around = { env: { ROBOT_PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
  const read = providerSchema(around).parse(providers['robot']);
  expect(read).toMatchObject({ driver: 'hetzner-robot', servers: [321, 322, 323], wipe: 'quick' });
});

test('every alarm that the driver raises is on the page', () => {
  for (const alarm of [
    'login-refused',
    'installation-failed',
    'rescue-host-key',
    'unwiped-server',
  ]) {
    expect(page).toContain(`alarm \`${alarm}\``);
  }
});
