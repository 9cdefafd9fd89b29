import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sessionId, slot, type SessionId } from '../../src/domain/ids.ts';
import { rankOf } from '../../src/domain/daemons.ts';

const uuid = fc.uuid().map((text) => sessionId(text));
const sessions = fc.uniqueArray(uuid, { minLength: 1, maxLength: 6 });
const SLOTS = Array.from({ length: 2_000 }, (_, at) => slot('stub', `rack-${at}`));
const firstOf = (all: readonly SessionId[], at: (typeof SLOTS)[number]) =>
  all.find((each) => rankOf(each, all, at) === 0)!;

test('gives all sessions the ranks 0 … n − 1 in any order', () => {
  fc.assert(
    fc.property(sessions, fc.nat(1_999), (all, at) => {
      const ranks = all.map((each) => rankOf(each, all, SLOTS[at]!));
      expect(ranks.toSorted((a, b) => a - b)).toEqual(all.map((_, rank) => rank));
      const turned = all.toReversed();
      expect(turned.map((each) => rankOf(each, turned, SLOTS[at]!))).toEqual(ranks.toReversed());
    }),
  );
});

test('ranks a session that is not listed yet among the others', () => {
  fc.assert(
    fc.property(sessions, uuid, (all, self) => {
      const rank = rankOf(self, all, SLOTS[0]!);
      expect(rank).toBeGreaterThanOrEqual(0);
      expect(rank).toBeLessThanOrEqual(all.length);
      expect(rankOf(self, [...all, self], SLOTS[0]!)).toBe(rank);
    }),
  );
});

test('moves only the machines of a session that leaves', () => {
  fc.assert(
    fc.property(fc.uniqueArray(uuid, { minLength: 2, maxLength: 5 }), (all) => {
      const [gone, ...left] = all;
      for (const at of SLOTS.slice(0, 200)) {
        const before = firstOf(all, at);
        if (before !== gone) expect(firstOf(left, at)).toBe(before);
      }
    }),
    { numRuns: 20 },
  );
});

test('keeps the order of the remaining sessions and passes machines to the next one', () => {
  fc.assert(
    fc.property(fc.uniqueArray(uuid, { minLength: 2, maxLength: 6 }), fc.nat(1_999), (all, at) => {
      const [gone, ...left] = all;
      const place = SLOTS[at]!;
      const order = (sessions: readonly SessionId[]) =>
        sessions.toSorted((a, b) => rankOf(a, sessions, place) - rankOf(b, sessions, place));
      expect(order(left)).toEqual(order(all).filter((each) => each !== gone));
    }),
  );
});

test('spreads machines evenly: no session has more than one and a half of its share', () => {
  fc.assert(
    fc.property(fc.uniqueArray(uuid, { minLength: 2, maxLength: 5 }), (all) => {
      const counts = new Map<SessionId, number>();
      for (const at of SLOTS) counts.set(firstOf(all, at), (counts.get(firstOf(all, at)) ?? 0) + 1);
      const share = SLOTS.length / all.length;
      for (const each of all) {
        expect(counts.get(each) ?? 0).toBeGreaterThan(share * 0.5);
        expect(counts.get(each) ?? 0).toBeLessThan(share * 1.5);
      }
    }),
    { numRuns: 20 },
  );
});
