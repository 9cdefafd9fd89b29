import { expect, test } from 'vitest';
import { createOwnership } from '../../../../src/adapters/provider/latitude/ownership.ts';
import {
  createStoredRecords,
  writeRecord,
} from '../../../../src/adapters/provider/latitude/records.ts';
import type { Server } from '../../../../src/adapters/provider/latitude/api.ts';
import type { Routes } from '../../../../src/adapters/provider/latitude/routes.ts';
import type { Call } from '../../../../src/adapters/driver-kit/call.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../../src/domain/provisioning/provider-tags.ts';
import { live, nameOf, SET, slotOf, startStand, witnessOf } from './stand.ts';

const TAGS = { [SET_ID_TAG]: SET, [WITNESS_TAG]: witnessOf(9) };
const NOW_MS = 1_700_000_000_000;
const YEARS_MS = 100 * 365 * 86_400_000;

const description = `shepherd ${SET} ${nameOf(1)} ${witnessOf(9)}`;
const dated = (t: number) =>
  writeRecord(
    { set: SET, hostname: nameOf(1), witness: witnessOf(9), tags: TAGS, t, slot: slotOf(1) },
    '{}\n',
  );

test('a record from the future grows old, too, and is young when it is written anew', async () => {
  let nowMs = NOW_MS;
  let data = { id: 'ud_1', ...dated(NOW_MS + YEARS_MS) };
  const listUserData = async () => ({ items: [data], unread: [], complete: true });
  const routes = { listUserData, getUserData: async () => data } as unknown as Routes;
  const stored = createStoredRecords(routes, { clock: { now: () => nowMs } });
  const ageMs = async () => nowMs - (await stored.read({} as Call)).all[0]!.writtenAtMs;
  expect(await ageMs()).toBe(0);
  nowMs += 300_000;
  expect(await ageMs()).toBe(300_000);
  const alone = await stored.of({} as Call, nameOf(1));
  expect(alone.all[0]!.writtenAtMs).toBe(NOW_MS);
  data = { id: 'ud_1', ...dated(nowMs) };
  expect(await ageMs()).toBe(0);
  nowMs += 60_000;
  data = { id: 'ud_1', ...dated(nowMs - 3_600_000) };
  expect(await ageMs()).toBe(3_600_000);
});

test.each([
  ['written for a server that does not show up', (nowMs: number) => dated(nowMs)],
  ['unreadable and without a date', () => ({ description, content: 'bm9uc2Vuc2U=' })],
  ['dated in the future', () => dated(Date.UTC(2999, 0, 1))],
])('a record that is %s holds its slot for a while, and then no more', async (_what, given) => {
  const stand = await startStand();
  const provider = stand.fleet();
  await stand.write(given(stand.clock.now()));
  const slots = async () => (await stand.machines(provider)).map((each) => each.reservationId);
  expect(await slots()).toEqual([slotOf(2)]);
  expect(await stand.run(provider.isReusable(slotOf(1), live))).toBe(false);
  await stand.wait(180_000);
  expect(await slots()).toEqual([slotOf(1), slotOf(2)]);
  expect(await stand.run(provider.isReusable(slotOf(1), live))).toBe(true);
  expect(stand.fake.userData()).toEqual([]);
});

test('an installation from the future proves itself, or not, like any other after a while', async () => {
  const routes = { getDeployConfig: async () => ({ userData: null }) } as unknown as Routes;
  const clock = { now: () => NOW_MS, monotonic: () => 0 };
  const ownership = createOwnership({ instanceSetId: SET, settleMs: 120_000 }, { routes, clock });
  const mark = { t: NOW_MS + YEARS_MS };
  const record = { id: 'ud_1', mark, writtenAtMs: clock.now() - 120_000 } as never;
  const server = { id: 'sv_1' } as Server;
  expect(await ownership.isInstalledWith({} as Call, server, record)).toBe(false);
});
