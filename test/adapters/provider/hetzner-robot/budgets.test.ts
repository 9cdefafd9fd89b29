import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import type { RobotClient } from '../../../../src/adapters/provider/hetzner-robot/client.ts';
import {
  freeName,
  leavingName,
  ourName,
  serverOfId,
  serverOfSlot,
  witnessOfText,
  witnessText,
} from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';
import { providerSchema } from '../../../../src/config/provider-schema.ts';
import { ProviderError } from '../../../../src/domain/errors.ts';
import { callOf, orderOf, startStand, type RobotStand } from './stand.ts';

const how = { signal: new AbortController().signal };
const urgently = { ...how, urgent: true };

/** With an emulator that refuses nothing. */
const startClients = () => startStand({ limits: { 'POST /reset': 1_000, 'GET /server': 1_000 } });
/** The results of this many resets. */
async function reset(client: RobotClient, times: number, sending = urgently) {
  const ends: (ProviderError | null)[] = [];
  for (let n = 0; n < times; n++) {
    ends.push(
      await client.reset(321, 'hw', sending).then(
        () => null,
        (error: unknown) => error as ProviderError,
      ),
    );
  }
  return ends;
}
const sentOf = (ends: readonly unknown[]) => ends.filter((end) => end === null).length;
const recordsOf = async ({ records }: RobotStand) =>
  (await records.all(how)).filter(({ key }) => key.startsWith('calls/'));

test('vector 24: reserves part of the reset budget for give-backs and forced resets', async () => {
  const { client: open, inMs, count, clock } = await startClients();
  const client = open();
  const ends = await reset(client, 45, { ...how, urgent: false });
  expect(ends.slice(0, 35).every((end) => end === null)).toBe(true);
  for (const error of ends.slice(35)) {
    expect(error).toMatchObject({ kind: 'transient', outcome: 'not-done' });
    expect(inMs(error)).toBeGreaterThan(0);
  }
  expect([sentOf(await reset(client, 1)), count(/^POST \/reset/)]).toEqual([1, 36]);
  clock.increment(3_600_001);
  expect(sentOf(await reset(client, 1, { ...how, urgent: false }))).toBe(1);
});

test('vector 25: has 5 resets left in a daemon restarted after 40, and drops older records', async () => {
  const stand = await startClients();
  await reset(stand.client(), 40);
  expect(sentOf(await reset(stand.client(), 7))).toBe(5);
  expect(sentOf(await reset(stand.client({ daemons: () => 2 }), 3))).toBe(0);
  stand.clock.increment(3_700_000);
  expect(sentOf(await reset(stand.client(), 1))).toBe(1);
  expect(await recordsOf(stand)).toHaveLength(1);
});

test("learns of a parallel daemon's resets before each reset of its own", async () => {
  const { client } = await startClients();
  const [one, other] = [client(), client({ daemons: () => 2 })];
  expect(sentOf(await reset(other, 1))).toBe(1);
  expect(sentOf(await reset(one, 45))).toBe(44);
  expect([sentOf(await reset(other, 1)), sentOf(await reset(one, 1))]).toEqual([0, 0]);
});

test('vector 25: loses the count of only a few requests per path when a daemon is killed', async () => {
  const { client } = await startClients();
  const limits = { 'GET /server': 40 };
  const first = client({ limits });
  for (let n = 0; n < 34; n++) await first.listServers(how);
  const next = client({ limits, daemons: () => 2 });
  let sent = 0;
  while (await next.listServers(how).catch(() => null)) sent += 1;
  expect(sent).toBeLessThan(7);
});

test('vector 25: knows the spent budget even before its session lets it write', async () => {
  const { client, records } = await startClients();
  await reset(client(), 40);
  let hasSession = false;
  const written =
    <Args extends unknown[], T>(write: (...args: Args) => Promise<T>) =>
    (...args: Args) =>
      hasSession ? write(...args) : Promise.reject(new ProviderError('aborted', 'no session'));
  const { all, make, replace, drop } = records;
  const kept = { all, make: written(make), replace: written(replace), drop: written(drop) };
  const next = client({ records: kept });
  await next.listServers(how);
  expect(await reset(next, 1)).toMatchObject([{ kind: 'aborted' }]);
  hasSession = true;
  const ends = await reset(next, 7);
  expect(sentOf(ends)).toBeGreaterThanOrEqual(4);
  expect(sentOf(ends)).toBeLessThanOrEqual(5);
});

/** Requests by method and path, without those of the minutely listing. */
function costOf({ sent, forget }: RobotStand): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const line of sent()) {
    const [, call] = /^([A-Z]+ \/[a-z]+)/.exec(line) ?? [];
    if (call === undefined || /^GET \/server$|\/key/.test(line)) continue;
    counts[call] = (counts[call] ?? 0) + 1;
  }
  forget();
  return counts;
}

test('spends on each order what the documents state', async () => {
  const stand = await startStand();
  const { provider, run, pass, create, fake, giveBack, isReusable } = stand;
  const resets = { 'GET /reset': 1, 'GET /boot': 1, 'POST /reset': 1 };
  const { id } = await create();
  await pass(400_000);
  const rescued = { ...resets, 'POST /boot': 1 };
  expect(costOf(stand)).toEqual({ ...rescued, 'GET /server': 2, 'POST /server': 1 });
  await run(provider.rebootMachine(id!, 'graceful', callOf()));
  expect(costOf(stand)).toEqual(resets);
  // A silent system cannot be asked to reboot itself.
  fake.press(321, 'hw');
  await run(provider.reinstallMachine(id!, orderOf('s9'), callOf()));
  await pass(900_000);
  expect(costOf(stand)).toEqual({ ...rescued, 'GET /server': 1 });
  await giveBack(id!);
  while (!(await isReusable())) await pass(10_000);
  expect(costOf(stand)).toEqual({ ...rescued, 'GET /server': 2, 'POST /server': 2 });
});

test('encodes a creation key as 26 lower-case base32 digits of RFC 4648, and decodes it again', () => {
  expect(witnessText('00000000-0000-0000-0000-000000000000')).toBe('a'.repeat(26));
  expect(witnessText('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe(`${'7'.repeat(25)}4`);
  expect(witnessText('666f6f62-6172-6162-6364-656667686970')).toBe('mzxw6ytbojqwey3emvtgo2djoa');
  fc.assert(fc.property(fc.uuid(), (uuid) => witnessOfText(witnessText(uuid)) === uuid));
  for (const text of ['', 'a'.repeat(25), 'a'.repeat(27), `${'a'.repeat(25)}b`, 'A'.repeat(26)]) {
    expect(witnessOfText(text)).toBeNull();
  }
  expect(() => witnessText('not-a-uuid')).toThrow('not a UUID');
});

test('makes names of at most 47 characters of [a-z0-9-], and rejects other ids and slots', () => {
  const longest = { namePrefix: `${'p'.repeat(20)}-`, freePrefix: `${'f'.repeat(20)}-` };
  expect(ourName(longest, '0b6e0000-1234-4abc-8def-0123456789ab')).toMatch(/^[a-z0-9-]{47}$/);
  expect(leavingName(longest, 999_999_999).length).toBeLessThanOrEqual(47);
  expect(freeName(longest, 321)).toBe(`${longest.freePrefix}321`);
  const ids = ['321-aaaaaaaa', '321', '0-aaaaaaaa', '321-aaaa', '321-aaaaaaaa-x', 'x'];
  expect(ids.map(serverOfId)).toEqual([321, null, null, null, null, null]);
  expect(['321', '0321', 'x'].map(serverOfSlot)).toEqual([321, null, null]);
});

const page = readFileSync(join(import.meta.dirname, '../../../../docs/hetzner-robot.md'), 'utf8');

test('has complete and valid configurations on its page, with every alarm of the driver', () => {
  const around = { env: { ROBOT_PASSWORD: 'x' }, baseDirectory: '/', checkFiles: false };
  const read = [...page.matchAll(/```yaml\n([^]*?)```/g)].map(([, text]) => {
    const { providers } = parse(text!) as { providers: Record<string, unknown> };
    return providerSchema(around).parse(providers['robot']);
  });
  expect(read).toMatchObject([
    { driver: 'hetzner-robot', adopt: '/servers.json' },
    { driver: 'hetzner-robot', servers: [321, 322, 323], wipe: 'quick' },
  ]);
  const alarms = ['login-refused', 'installation-failed', 'rescue-host-key', 'unwiped-server'];
  for (const alarm of alarms) expect(page).toContain(`alarm \`${alarm}\``);
});

test('delays no later reset after a lost answer to a write of counts', async () => {
  const stand = await startClients();
  const { records } = stand;
  let isLost = true;
  const lossy = {
    ...records,
    make: async (...given: Parameters<typeof records.make>) => {
      const version = await records.make(...given);
      if (!isLost) return version;
      isLost = false;
      throw new ProviderError('transient', 'the answer was lost', { outcome: 'unknown' });
    },
  };
  const client = stand.client({ records: lossy });
  expect(sentOf(await reset(client, 3))).toBe(2);
  expect(await recordsOf(stand)).toHaveLength(1);
});
