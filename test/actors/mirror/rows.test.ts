import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createMirrorRows } from '../../../src/actors/mirror/rows.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { finish } from '../../../src/lib/steps.ts';
import { NOTHING_READ } from '../../doubles/scripted-bmdb.ts';
import { machineRow, MACHINE } from '../../support/facts.ts';

/** A read of one machine: its start, its snapshot and its later arrival. */
interface MachineRead {
  readonly kind: 'scan' | 'changes' | 'reading';
  readonly beganAtMs: number;
  readonly seenAtMs: number;
  readonly takenAtMs: number;
}
const reads = fc.array(
  fc
    .record({
      kind: fc.constantFrom<MachineRead['kind']>('scan', 'changes', 'reading'),
      began: fc.nat(30),
      until: fc.nat(10),
      after: fc.nat(10),
    })
    .map(({ kind, began, until, after }): MachineRead => {
      const seenAtMs = began + until;
      return { kind, beganAtMs: began, seenAtMs, takenAtMs: seenAtMs + after };
    }),
  { minLength: 1, maxLength: 12 },
);

/** Rows of a machine that is written each millisecond, and is missing at some of them. */
const rowAt = (atMs: number, gone: ReadonlySet<number>): MachineRow | null =>
  gone.has(atMs) ? null : machineRow({ hostKey: `key ${atMs}` });

test('keeps the newest reading, in any order of begin, snapshot and arrival', () => {
  const gone = fc.uniqueArray(fc.nat(50)).map((all) => new Set(all));
  fc.assert(
    fc.property(reads, gone, (all, away) => {
      let now = 0;
      const rows = createMirrorRows({ monotonic: () => now });
      let newest = -1;
      for (const read of all.toSorted((a, b) => a.takenAtMs - b.takenAtMs)) {
        const { kind, beganAtMs, seenAtMs } = read;
        now = read.takenAtMs;
        const row = rowAt(seenAtMs, away);
        // The transaction's `now()`, which gives no order.
        const moment = { nowMs: beganAtMs, version: seenAtMs };
        const machines = row ? [row] : [];
        const some = { ...NOTHING_READ, ...moment, machines };
        if (kind === 'scan') finish(rows.takeScan(some, beganAtMs));
        else if (kind === 'reading') rows.takeReading(MACHINE, { ...moment, row }, beganAtMs);
        else rows.takeChanges({ ...some, gone: row ? [] : [MACHINE] }, beganAtMs);
        newest = Math.max(newest, seenAtMs);
        expect(rows.get(MACHINE)).toEqual(rowAt(newest, away));
      }
    }),
    { numRuns: 2_000 },
  );
});
