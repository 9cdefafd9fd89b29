import { describe, expect, it } from 'vitest';
import { createListCache } from '../../../src/simulator/fakequinix/api/list-cache.ts';
import type { Call } from '../../../src/simulator/fakequinix/api/call.ts';
import type { Core } from '../../../src/simulator/fakequinix/core.ts';
import { createGenerator } from '../../../src/simulator/fakequinix/time/random.ts';
import { parseWorld } from '../../../src/simulator/fakequinix/world.ts';
import { clientOf, start, type Json } from './harness.ts';

const SIZE = 10_000;
const uuid = (i: number) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
const world = parseWorld({
  reservations: Array.from({ length: SIZE }, (_, i) => ({ id: uuid(i) })),
  devices: Array.from({ length: SIZE }, (_, i) => ({
    hostname: `host-${(i * 7_919) % SIZE}`,
    reservation: uuid(i),
  })),
});

describe('ten thousand devices on ten thousand reservations', () => {
  it.each([100, 1_000])('are listed whole by pages of %i', async (perPage) => {
    const fake = await start({ world });
    for (const [path, list, sort] of [
      ['devices', 'devices', 'hostname'],
      ['hardware-reservations', 'hardware_reservations', 'created_at'],
    ] as const) {
      const ids = new Set<unknown>();
      for (let page = 1; page <= SIZE / perPage; page++) {
        const query = `include=facility&sort_by=${sort}&per_page=${perPage}&page=${page}`;
        const url = `/projects/${fake.projectId}/${path}?${query}`;
        const { body } = await clientOf(fake)('GET', url);
        expect(body['meta']!['total']).toBe(SIZE);
        for (const one of body[list] as ReadonlyArray<Json>) ids.add(one['id']);
      }
      expect(ids.size).toBe(SIZE);
    }
    expect(fake.violations()).toEqual([]);
  });
});

describe('the cache of lists', () => {
  const setUp = () => {
    let revision = 0;
    let asked = 0;
    const knobs = { shuffleUnsorted: false };
    const core = { chance: createGenerator(1), knobs, revision: () => revision } as Core;
    const ordered = createListCache(core);
    const read = (query: Record<string, string>, disturbance: Partial<Call['disturbance']> = {}) =>
      ordered(
        {
          caller: {
            value: 't',
            organizationId: 'o',
            projectId: null,
            readOnly: true,
            revoked: false,
          },
          path: '/numbers',
          params: {},
          query: new Map(Object.entries(query)),
          body: {},
          disturbance: { staleDeviceMs: 0, staleReservationMs: 0, ...disturbance },
        },
        {
          items: () => {
            asked++;
            return [3, 1, 2];
          },
          view: () => ({}),
          sortValue: (item, field) => (field === 'value' ? item : undefined),
        },
      );
    return { read, knobs, asked: () => asked, change: () => void revision++ };
  };

  it('sorts once for all pages, and again after a change', () => {
    const { read, asked, change } = setUp();
    for (const page of ['1', '2', '3']) {
      expect(read({ sort_by: 'value', page, per_page: '1', include: 'x' })).toEqual([1, 2, 3]);
    }
    expect(asked()).toBe(1);
    change();
    read({ sort_by: 'value', page: '4' });
    expect(asked()).toBe(2);
  });

  it('keeps apart what is asked for differently', () => {
    const { read, asked } = setUp();
    expect(read({})).toEqual([3, 1, 2]);
    expect(read({ sort_by: 'value', sort_direction: 'desc' })).toEqual([3, 2, 1]);
    expect(read({ sort_by: 'nothing' })).toEqual([3, 1, 2]);
    expect(read({ search: 'x' })).toEqual([3, 1, 2]);
    expect(asked()).toBe(4);
  });

  it('keeps nothing of what is shuffled or late', () => {
    const { read, asked, knobs } = setUp();
    for (const _ of [1, 2]) read({ sort_by: 'value' }, { pages: 'shuffle' });
    for (const _ of [1, 2]) read({}, { staleDeviceMs: 5 });
    knobs.shuffleUnsorted = true;
    for (const _ of [1, 2]) read({});
    expect(asked()).toBe(6);
  });

  it('does not grow with what is asked', () => {
    const { read, asked } = setUp();
    for (let i = 0; i < 20; i++) read({ search: String(i) });
    read({ search: '19' });
    expect(asked()).toBe(20);
    read({ search: '0' });
    expect(asked()).toBe(21);
  });
});
