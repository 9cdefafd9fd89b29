import { expect, test } from 'vitest';
import type { Membership } from '../../../../emulators/sim/scenarios/audit.ts';
import { servedOutOfTurn } from '../../../../emulators/sim/scenarios/turns.ts';

const became = (state: Membership['state'], atMs: number, balancer = 'lb'): Membership => ({
  pool: 'web',
  balancer,
  state,
  atMs,
});
/** A machine that is admitted, released, and admitted again. */
const LIFE = [
  became('joining', 10.5),
  became('warming', 20),
  became('active', 30),
  became('draining', 50),
  became('drained', 60.7),
  became('joining', 90),
];
const outOfTurn = (life: readonly Membership[], ...times: number[]) =>
  servedOutOfTurn(
    times.map((atMs) => ({ deviceId: 'a', atMs })),
    new Map([['a', life]]),
  ).map(({ atMs }) => atMs);

test('finds requests before admission, and between release and the next admission', () => {
  expect(outOfTurn(LIFE, 0, 9, 10, 25, 35, 55, 59, 61, 89, 90, 100)).toEqual([0, 9, 61, 89]);
});

test('counts every request to a machine that was never a member as out of turn', () => {
  expect(servedOutOfTurn([{ deviceId: 'b', atMs: 35 }], new Map([['a', LIFE]]))).toHaveLength(1);
});

test('accepts requests to a machine that another balancer still uses', () => {
  const two = [...LIFE.slice(0, 5), became('active', 5, 'other')].toSorted(
    (a, b) => a.atMs - b.atMs,
  );
  expect(outOfTurn(two, 65)).toEqual([]);
  expect(outOfTurn([...two, became('drained', 70, 'other')], 69, 71)).toEqual([71]);
});

test('counts requests after the row is deleted as out of turn', () => {
  expect(outOfTurn([...LIFE, became(null, 95)], 94, 96)).toEqual([96]);
});
