import { expect, test } from 'vitest';
import { createHoldKeeper } from '../../../../src/actors/providers/holds.ts';
import { createMemBmdb } from '../../../doubles/mem-bmdb/mem-bmdb.ts';
import { advance, createSeededRandom } from '../../../doubles/simulated-clock.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../../../src/domain/recovery/guard-judgement.ts';
import { recordingLog } from '../../../doubles/recording-log.ts';
import { live } from '../driver-stand.ts';
import { OURS, type Stand, startStand } from './stand.ts';

let stand: Stand;

test('A3: a long pause is in the BMDB alone, and clearing it there ends it in all daemons', async () => {
  stand = await startStand({ devices: [{ hostname: 'shepherd-ci-x', tags: OURS }] });
  const { fake, deps, provider } = stand;
  const { clock } = deps;
  const bmdb = createMemBmdb({
    clock,
    random: createSeededRandom(1),
    loss: DEFAULT_LOSS,
    budget: DEFAULT_BUDGET,
    guard: DEFAULT_GUARD,
  });
  const daemon = (of: typeof provider) => {
    const holds = createHoldKeeper({
      book: bmdb.providerHolds,
      nowMs: clock.now,
      clock,
      log: recordingLog(),
      rows: () => [...bmdb.tables.providerHolds.values()],
    });
    const id = fake.devices()[0]!.id;
    return { holds, get: () => holds.guard(of.name, 'get', () => of.getMachine(id, live)) };
  };
  const [one, other] = [daemon(provider), daemon(stand.another())];
  const headers = { 'Retry-After': '999999' };
  fake.addFault({ times: 1, effect: { type: 'status', code: 429, headers } });

  await expect(one.get()).rejects.toMatchObject({ code: 'transient' });
  const [row] = bmdb.tables.providerHolds.values();
  expect(row).toMatchObject({ kind: 'throttle', key: 'get' });
  expect(row!.untilMs - clock.now()).toBeLessThanOrEqual(15 * 60_000);
  await expect(other.get()).rejects.toThrow('throttled');
  expect(fake.requests()).toHaveLength(1);

  // As `shepherd provider clear --hold throttle` does.
  await bmdb.providerHolds.lift(provider.name, 'throttle');
  // What a daemon itself knows of it counts for ten seconds.
  await advance(clock, 10_001);
  await one.get();
  await other.get();
  expect(fake.requests()).toHaveLength(3);
});
