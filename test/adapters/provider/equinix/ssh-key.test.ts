import { expect, test } from 'vitest';
import type { DriverContext } from '../../../../src/adapters/provider/port.ts';
import { createEquinixClient } from '../../../../src/adapters/provider/equinix/client.ts';
import { createEquinixApi } from '../../../../src/adapters/provider/equinix/api.ts';
import { createOurSshKey } from '../../../../src/adapters/provider/equinix/our-ssh-key.ts';
import { fingerprintOfLine } from '../../../../src/adapters/driver-kit/our-key.ts';
import { callOf, live, publicKeyLine } from '../driver-stand.ts';
import { driven } from '../../../doubles/simulated-clock.ts';
import { type EquinixStand, startStand } from './stand.ts';
import { configFor } from './setup.ts';

const LOOK = 'GET /projects/{id}/ssh-keys';
const HOUR_MS = 3_600_000;
const OURS = { label: 'shepherd-ci', key: publicKeyLine(1) };
const { signal } = live;

let stand: EquinixStand;

/** Our key as seen this long after now. */
async function keyAt(
  publicLine: () => string = () => publicKeyLine(1),
  tellEvent: Required<DriverContext>['tellEvent'] = () => undefined,
) {
  let laterMs = 0;
  const clock = { now: () => stand.deps.clock.now() + laterMs, monotonic: () => laterMs };
  const access = { token: () => stand.fake.tokens.user, projectId: stand.fake.projectId };
  const config = {
    ...configFor(stand.fake.url, access),
    get publicKeyLine() {
      return publicLine();
    },
    previousKeyLines: [publicKeyLine(1)],
  };
  const { log, lines, clock: time } = stand.deps;
  const pass = (ms: number) => void (laterMs += ms);
  const api = createEquinixApi(config, stand.deps);
  const client = createEquinixClient(config);
  const { id, forget, sweep } = createOurSshKey(config, { client, clock, log, tellEvent });
  const key = driven(time, {
    id: (within: AbortSignal) => id(api.call('key', within), within),
    sweep: (how: { readonly dryRun: boolean }, within: AbortSignal) =>
      sweep(api.call('sweep', within), how),
    forget,
  });
  return { key, lines, pass, stop: () => api.stop() };
}

test('checks at each preparation that the key is still there', async () => {
  stand = await startStand({});
  await stand.provider.prepare(live);
  await stand.provider.prepare(live);
  expect(stand.changes()).toEqual(['POST /projects/{id}/ssh-keys']);
  expect(stand.count(LOOK)).toBe(2);
});

test('trusts the key before a creation for a day, or until it is forgotten', async () => {
  stand = await startStand({});
  const { key, pass, stop } = await keyAt();
  const id = await key.id(signal);
  pass(23 * HOUR_MS);
  expect(await key.id(signal)).toBe(id);
  expect(stand.count(LOOK)).toBe(1);
  pass(2 * HOUR_MS);
  expect(await key.id(signal)).toBe(id);
  expect(stand.count(LOOK)).toBe(2);
  key.forget();
  await key.id(signal);
  expect(stand.count(LOOK)).toBe(3);
  stop();
});

test('D10: replaces an earlier key of ours under the same id, with an event and a line in the log', async () => {
  stand = await startStand({ keys: [OURS] });
  let line = publicKeyLine(1);
  const events: Parameters<Required<DriverContext>['tellEvent']>[0][] = [];
  const { key, lines, stop } = await keyAt(
    () => line,
    (event) => void events.push(event),
  );
  const id = await key.id(signal);
  line = publicKeyLine(2);
  expect(await key.id(signal)).toBe(id);
  expect(await key.id(signal)).toBe(id);
  expect(stand.changes()).toHaveLength(1);
  expect(stand.changes()[0]).toMatch(/^(PATCH|PUT) .ssh-keys/);
  const [from, to] = [1, 2].map((mark) => fingerprintOfLine(publicKeyLine(mark)));
  expect(events).toMatchObject([
    { type: 'provider.ssh_key_replaced', details: { name: 'shepherd-ci', from, to } },
  ]);
  expect(lines.filter((each) => each.includes('an earlier SSH key of ours was replaced'))).toEqual([
    expect.stringContaining(to!),
  ]);
  stop();
});

test('uses the current key if earlier keys of ours have the label, too', async () => {
  stand = await startStand({ keys: [OURS, { ...OURS, key: publicKeyLine(2) }] });
  const { key, stop } = await keyAt(() => publicKeyLine(2));
  await key.id(signal);
  expect(stand.changes()).toEqual([]);
  stop();
});

test('removes all old copies of our key but one, and leaves differing keys to people', async () => {
  const other = { ...OURS, label: 'other' };
  const replaced = { ...OURS, key: publicKeyLine(2) };
  stand = await startStand({ keys: [OURS, OURS, OURS, other, replaced] });
  const { key, pass, stop } = await keyAt();
  expect((await key.sweep({ dryRun: false }, signal)).removed).toEqual([]);
  pass(HOUR_MS + 60_000);
  const { removed } = await key.sweep({ dryRun: true }, signal);
  expect(removed).toMatchObject([{ kind: 'ssh-key' }, { kind: 'ssh-key' }]);
  expect(stand.changes()).toEqual([]);
  expect((await key.sweep({ dryRun: false }, signal)).removed).toEqual(removed);
  expect(stand.changes()).toEqual(Array(2).fill('DELETE /ssh-keys/{id}'));
  expect((await key.sweep({ dryRun: false }, signal)).removed).toEqual([]);
  stop();
});

test('A2: does not count a key as removed that is reported as missing, and is listed', async () => {
  stand = await startStand({ keys: [OURS, OURS] });
  const { key, pass, stop } = await keyAt();
  pass(HOUR_MS + 60_000);
  const match = { method: 'DELETE', route: '/ssh-keys/{id}' } as const;
  stand.fake.addFault({ match, effect: { type: 'status', code: 404 }, times: 1 });
  expect((await key.sweep({ dryRun: false }, signal)).removed).toEqual([]);
  expect((await key.sweep({ dryRun: false }, signal)).removed).toHaveLength(1);
  stop();
});

test('removes old keys in the driver by the same function', async () => {
  stand = await startStand({ keys: [OURS, OURS] });
  expect(await stand.driver.sweep!({ ...callOf(), dryRun: true })).toEqual({ removed: [] });
  expect(stand.count(LOOK)).toBe(1);
});
