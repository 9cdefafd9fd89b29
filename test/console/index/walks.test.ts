import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMachineIndex } from '../../../src/console/index/machine-index.ts';
import { SORTS } from '../../../src/console/index/row.ts';
import { createWalks, readPage, type WalkPage } from '../../../src/console/index/walks.ts';
import { STATES } from '../../../src/domain/states.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { AT_MS, machine, scriptedFleet } from '../scripted-fleet.ts';
import { testRows } from '../../support/rows.ts';

const EVERYTHING = { terms: [] };
const names = Array.from({ length: 120 }, (_, at) => `m${String(at).padStart(3, '0')}`);
const change = fc.record({
  id: fc.constantFrom(...names),
  state: fc.constantFrom(...STATES),
  location: fc.constantFrom('am6', 'da11', 'fr2'),
  sinceMs: fc.integer({ min: 0, max: 50 }),
  lastHeartbeatAtMs: fc.option(fc.integer({ min: 0, max: 50 })),
});

testRows(SORTS.flatMap((sort) => [[sort, false] as const, [sort, true] as const]))(
  'V4: pages of %s (descending: %s) show the list of the first page, without gap or repeat, while machines change',
  async (sort, descending) => {
    const run = async (
      changes: readonly (typeof change extends fc.Arbitrary<infer T> ? T : never)[][],
    ) => {
      const clock = createSimulatedClock();
      const fleet = scriptedFleet(...names.map((id) => machine(id)));
      const index = createMachineIndex({
        ...{ entries: fleet.entries, entryChanges$: fleet.entryChanges$, clock },
        nowMs: () => AT_MS,
        isOverdue: () => false,
      });
      const move = (round: number) => {
        for (const { id, ...next } of changes[round] ?? []) fleet.put(machine(id, next));
      };
      move(0);
      const listing = await index.listing(EVERYTHING, sort);
      const wanted = { listing, sort, descending, limit: 17 };
      const whole = readPage(listing.rows, { ...wanted, offset: 0, limit: 1_000 });
      const walks = createWalks(clock);
      const seen: string[] = [];
      let next: string | null = null;
      for (let round = 1; ; round += 1) {
        const page: WalkPage = walks.page(wanted, next)!;
        seen.push(...page.rows.map(({ slot }) => slot));
        next = page.next;
        if (next === null) break;
        move(round);
      }
      expect(seen).toEqual(whole.map(({ slot }) => slot));
      const sorted = await index.listing(EVERYTHING, sort);
      expect(new Set(sorted.rows.slice(0, 1_000)).size).toBe(names.length);
      index.close();
    };
    const changes = fc.array(fc.array(change, { maxLength: 20 }), { maxLength: 8 });
    await fc.assert(fc.asyncProperty(changes, run), { numRuns: 5 });
  },
);

test('V4: continues a walk that is no longer kept after its last machine', async () => {
  const clock = createSimulatedClock();
  const fleet = scriptedFleet(...names.map((id) => machine(id)));
  const index = createMachineIndex({
    ...{ entries: fleet.entries, entryChanges$: fleet.entryChanges$, clock },
    nowMs: () => AT_MS,
    isOverdue: () => false,
  });
  const listing = await index.listing(EVERYTHING, 'heard');
  for (const descending of [false, true]) {
    const wanted = { listing, sort: 'heard' as const, descending, limit: 50 };
    const first = createWalks(clock).page(wanted, null)!;
    const rest = createWalks(clock).page({ ...wanted, limit: 100 }, first.next)!;
    const slots = [...first.rows, ...rest.rows].map(({ slot }) => slot);
    expect(slots).toEqual(
      readPage(listing.rows, { offset: 0, limit: 200, descending }).map(({ slot }) => slot),
    );
  }
  index.close();
});
