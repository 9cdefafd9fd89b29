import { describe, expect, test } from 'vitest';
import { failuresBy, type Episode, type KnownSlot } from '../../src/domain/failures.ts';
import { machineId, providerName, slot } from '../../src/domain/ids.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;
const NOW = 1_000 * DAY;
const SINCE = NOW - 100 * DAY;
const METAL = providerName('metal');
const window = { sinceMs: SINCE, nowMs: NOW };

interface SlotChange extends Partial<KnownSlot['kinds']> {
  readonly createdAtMs?: number | null;
  readonly isRetired?: boolean;
}
/** Slot `metal/<id>`, with machine `m-<id>` since long ago. */
function known(id: string, change: SlotChange = {}): KnownSlot {
  const { createdAtMs = 0, isRetired = false, ...kinds } = change;
  return {
    slot: slot(METAL, id),
    machine: createdAtMs === null ? null : { id: machineId(`m-${id}`), createdAtMs },
    kinds: { plan: 'c3', location: 'ny', provider: METAL, model: null, ...kinds },
    isRetired,
  };
}

/** A recovery of the machine on that slot, healed after this many minutes; null: not healed. */
const episode = (
  id: string,
  minutes: number | null = 5,
  change: Partial<Episode> = {},
): Episode => ({
  ...{ provider: METAL, slotId: id, machineId: machineId(`m-${id}`), location: 'ny' },
  ...{ silentSinceMs: NOW - DAY, beganAtMs: NOW - DAY + MINUTE, rung: 'rebooting', attempts: 1 },
  healedAtMs: minutes === null ? null : NOW - DAY + minutes * MINUTE,
  endedAtMs: minutes === null ? null : NOW,
  ...change,
});
const times = (count: number, id: string) => Array.from({ length: count }, () => episode(id));

describe('failures by kind', () => {
  test('show a model that fails 16 times as often as another one', () => {
    const slots = ['a', 'b'].map((id) => known(id, { model: `Model ${id}` }));
    const episodes = [...times(1, 'a'), ...times(16, 'b')];
    const { fleet, groups } = failuresBy({ by: 'model', slots, episodes, ...window });
    expect(groups.map(({ name, rate }) => [name, rate])).toEqual([
      ['Model b', 16],
      ['Model a', 1],
    ]);
    expect(groups[0]!.rate! / groups[1]!.rate!).toBe(16);
    expect(fleet).toMatchObject({ machines: 2, machineDays: 200, episodes: 17, ratio: 1 });
  });

  test('compare a rate with the rate of the whole fleet', () => {
    const slots = [
      known('bad', { model: 'bad' }),
      ...Array.from({ length: 15 }, (_, at) => known(`good-${at}`, { model: 'good' })),
    ];
    const episodes = times(32, 'bad');
    const { fleet, groups } = failuresBy({ by: 'model', slots, episodes, ...window });
    expect(fleet.rate).toBe(2);
    expect(groups.map(({ name, rate, ratio }) => [name, rate, ratio])).toEqual([
      ['bad', 32, 16],
      ['good', 0, 0],
    ]);
  });

  test.each([
    ['plan', ['c3', 'm3']],
    ['location', ['fr', 'unknown']],
    ['provider', ['metal']],
    ['model', ['unknown']],
  ] as const)('groups machines by %s', (by, expected) => {
    const slots = [known('a', { location: null }), known('b', { plan: 'm3', location: 'fr' })];
    const { groups } = failuresBy({ by, slots, episodes: [], ...window });
    expect(groups.map(({ name }) => name)).toEqual(expected);
    expect(groups.reduce((sum, { machines }) => sum + machines, 0)).toBe(2);
    expect(groups[0]).toMatchObject({ episodes: 0, rate: 0, ratio: null, repairP50Ms: null });
  });

  test('count the days of a machine only within the window and only while it exists', () => {
    const slots = [
      known('old'),
      known('new', { createdAtMs: NOW - 10 * DAY }),
      known('ahead', { createdAtMs: NOW + DAY }),
      known('free', { createdAtMs: null }),
    ];
    const { fleet, groups } = failuresBy({ by: 'provider', slots, episodes: [], ...window });
    expect(fleet).toMatchObject({ machines: 3, machineDays: 110 });
    expect(groups).toHaveLength(1);
  });

  test('leave episodes of machines that are gone out of the rate, but count them', () => {
    const slots = [
      known('here', { plan: 'c3', location: 'fr' }),
      known('free', { createdAtMs: null }),
    ];
    const episodes = [
      episode('here'),
      episode('here', 5, { machineId: machineId('m-before') }),
      episode('free'),
      episode('nowhere', 5, { location: 'am' }),
    ];
    const by = (kind: 'plan' | 'location' | 'provider') =>
      failuresBy({ by: kind, slots, episodes, ...window }).groups.map(
        ({ name, episodes: count, gone, rate }) => [name, count, gone, rate],
      );
    expect(by('provider')).toEqual([['metal', 4, 3, 1]]);
    expect(by('plan')).toEqual([
      ['c3', 3, 2, 1],
      ['unknown', 1, 1, null],
    ]);
    expect(by('location'), 'the slot says more than the episode').toEqual([
      ['fr', 2, 1, 1],
      ['am', 1, 1, null],
      ['ny', 1, 1, null],
    ]);
  });

  test('say which rungs healed, and the time from silence to the first heartbeat by nearest rank', () => {
    const minutes = [30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];
    const episodes = [
      ...minutes.map((each, at) => episode('a', each, at === 0 ? { rung: 'powerCycling' } : {})),
      episode('a', null, { rung: 'powerCycling', endedAtMs: NOW }),
      episode('a', null),
    ];
    const { fleet } = failuresBy({ by: 'plan', slots: [known('a')], episodes, ...window });
    expect(fleet).toMatchObject({
      episodes: 22,
      healedBy: { rebooting: 19, powerCycling: 1 },
      unhealed: 2,
      repairP50Ms: 10 * MINUTE,
      repairP95Ms: 19 * MINUTE,
    });
  });

  test('count retired slots, also without a machine', () => {
    const slots = [
      known('a', { isRetired: true }),
      known('b', { isRetired: true, createdAtMs: null }),
      known('c', { plan: 'm3' }),
    ];
    const { fleet, groups } = failuresBy({ by: 'plan', slots, episodes: [], ...window });
    expect(fleet).toMatchObject({ machines: 2, retired: 2 });
    expect(groups.map(({ name, retired }) => [name, retired])).toEqual([
      ['c3', 2],
      ['m3', 0],
    ]);
  });
});
