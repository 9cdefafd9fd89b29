import { describe, expect, test } from 'vitest';
import { newRemembered } from '../../../src/domain/balancing/sights.ts';
import { DOWN_MS } from '../../../src/domain/balancing/member-steps.ts';
import { DESELECTED } from '../../../src/domain/balancing/wish.ts';
import { drain, drop, keep, serve } from '../../support/balancing-stand.ts';
import { M1, M2, M3 } from './pool.ts';
import { draining, firstOf, member, modes, moves, NOW, REMOVE, sight, step } from './step-case.ts';
import { testRows } from '../../support/rows.ts';

describe('joining', () => {
  test('a machine that is to serve joins; nobody else becomes a member', () => {
    const told = step({ wishes: [serve(M1), drain(M2), drop(M3)] });
    expect(moves(told)).toEqual([{ machineId: M1, to: 'joining', note: null }]);
  });
  test('one that was let go joins anew', () => {
    const rows = [member(M1, { state: 'drained', how: 'grace' })];
    expect(firstOf({ rows, wishes: [serve(M1)] })).toMatchObject({ to: 'joining' });
  });
  testRows([
    ['not before all its servers are there', { isWhole: false }, undefined],
    ['checked while they are not known to be well', { health: 'unknown' }, 'warming'],
    ['active when they are well', { health: 'up' }, 'active'],
  ] as const)('from joining: %s', (_, seen, to) => {
    const rows = [member(M1, { state: 'joining', sinceMs: NOW })];
    const told = step({
      rows,
      wishes: [serve(M1)],
      sights: { [M1]: sight({ mode: 'drain', ...seen }) },
    });
    expect(moves(told)[0]?.to).toBe(to);
    if (to === 'active') expect(modes(told)).toEqual([[M1, 'active']]);
    else expect(modes(told)).toEqual([]);
  });
  test('ready is enough where the balancer does not tell who is well', () => {
    const rows = [member(M1, { state: 'joining' })];
    const sights = { [M1]: sight({ health: null }) };
    const told = firstOf({ rows, wishes: [serve(M1)], sights, capabilities: REMOVE });
    expect(told?.to).toBe('active');
  });
  test('nothing is decided on a look that is too old', () => {
    const rows = [member(M1, { state: 'joining' })];
    expect(step({ rows, wishes: [serve(M1)], sights: null })).toMatchObject({
      needsLook: true,
      moves: [],
    });
  });
  test('after the warm-up it serves though it is not seen well, and that is noted', () => {
    const warming = (sinceMs: number) => ({
      rows: [member(M1, { state: 'warming', sinceMs })],
      wishes: [serve(M1)],
      sights: { [M1]: sight({ mode: 'drain', health: 'down' }) },
    });
    expect(step(warming(NOW - 119_999))).toMatchObject({ moves: [], dueAtMs: NOW + 1 });
    expect(firstOf(warming(NOW - 120_000))).toMatchObject({
      to: 'active',
      note: 'the balancer does not see it well',
    });
  });
});

describe('being let go by plan', () => {
  const two = [member(M1), member(M2)];
  test('it gets no new connections, and may keep those it has for the grace', () => {
    const sights = { [M1]: sight(), [M2]: sight() };
    const told = step({ rows: two, wishes: [drain(M1), serve(M2)], sights });
    expect(moves(told)).toEqual([
      { machineId: M1, to: 'draining', graceMs: 30_000, note: 'ann asked for reboot: test' },
    ]);
    expect(modes(told)).toEqual([[M1, 'drain']]);
  });
  test('vector 20: not the last one, unless by force', () => {
    const rows = [member(M1)];
    expect(firstOf({ rows, wishes: [drain(M1)] })).toMatchObject({
      note: 'ann asked for reboot: test; not before another is active: 0 are left, and 1 must be',
    });
    expect(firstOf({ rows, wishes: [drain(M1, { force: true })] })?.to).toBe('draining');
  });
  test('a member that the balancer sees down does not count as one that is left', () => {
    const sights = { [M1]: sight(), [M2]: sight({ health: 'down' }) };
    expect(firstOf({ rows: two, wishes: [drain(M1), serve(M2)], sights })?.to).toBeUndefined();
    expect(firstOf({ rows: two, wishes: [serve(M1), drain(M2)], sights })?.to).toBe('draining');
  });
  test('one at a time; who asked first goes first', () => {
    const rows = [member(M1), member(M2), member(M3)];
    const wishes = [drain(M1, { askedAtMs: 3 }), drain(M2, { askedAtMs: 2 }), serve(M3)];
    const told = moves(step({ rows, wishes }));
    expect(told.filter(({ to }) => to === 'draining').map(({ machineId }) => machineId)).toEqual([
      M2,
    ]);
    expect(told.find(({ machineId }) => machineId === M1)?.note).toContain('waits for its turn');
  });
  testRows([
    [
      'is away',
      member(M2, { state: 'drained', how: 'grace', sinceMs: NOW - 60_000 }),
      drop(M2),
      false,
    ],
    ['comes back', member(M2, { state: 'joining', sinceMs: NOW }), serve(M2), false],
    [
      'was away for an hour',
      member(M2, { state: 'drained', how: 'grace', sinceMs: NOW - 3_600_000 }),
      drop(M2),
      true,
    ],
    ['went by itself', member(M2, { state: 'drained', how: 'gone', sinceMs: NOW }), drop(M2), true],
    ['leaves for good', draining(M2), drain(M2, { leaves: true }), true],
  ])('while another %s', (_, other, wish, may) => {
    const rows = [member(M1), other, member(M3)];
    const away = sight({ mode: 'drain', sessions: 1 });
    const sights = { [M1]: sight(), [other.machineId]: away, [M3]: sight() };
    const told = moves(step({ rows, wishes: [drain(M1), wish, serve(M3)], sights }));
    const to = told.find(({ machineId }) => machineId === M1)?.to;
    expect(to).toBe(may ? 'draining' : undefined);
  });
  test('not on the word of no look; by force at once', () => {
    const rows = [member(M1), member(M2)];
    const wishes = [drain(M1), serve(M2)];
    const blind = step({ rows, wishes, sights: null });
    expect([moves(blind), blind.needsLook]).toEqual([[], true]);
    const removing = step({ rows, wishes, sights: null, capabilities: REMOVE });
    expect([moves(removing), removing.needsLook]).toEqual([[], true]);
    const forced = [drain(M1, { force: true }), serve(M2)];
    expect(firstOf({ rows, wishes: forced, sights: null })?.to).toBe('draining');
  });
  testRows([
    ['has no server', {}],
    ['is not open, though it is told to be', { [M2]: sight({ mode: 'drain' }) }],
    ['has servers that failed', { [M2]: sight({ isWhole: false, open: 0 }) }],
    [
      'serves on fewer ports',
      { [M1]: sight({ open: 2 }), [M2]: sight({ isWhole: false, open: 1 }) },
    ],
  ])('a member that %s does not count as one that is left', (_, seen) => {
    const rows = [member(M1), member(M2)];
    const sights = { [M1]: sight(), ...seen };
    const told = moves(step({ rows, wishes: [drain(M1), serve(M2)], sights }));
    expect(told).toMatchObject([{ machineId: M1, note: expect.stringContaining('0 are left') }]);
  });
  test('while no member serves as it should, the one that serves best is kept', () => {
    const rows = [member(M1), member(M2)];
    const half = sight({ isWhole: false, open: 1 });
    const sights = { [M1]: half, [M2]: half };
    expect(firstOf({ rows, wishes: [drain(M1), serve(M2)], sights })?.to).toBe('draining');
    const alone = { rows: [member(M1)], wishes: [drain(M1)], sights: { [M1]: half } };
    expect(firstOf(alone)?.to).toBeUndefined();
  });
  testRows([
    ['that waits for its turn', 'active', drain(M1)],
    ['that nobody can tell of', 'active', keep(M1)],
    ['that drains', 'draining', drain(M1)],
  ] as const)('a member %s was not waited for: it is again', (_, state, wish) => {
    const rows = [
      member(M1, { state, waived: true, refused: true, note: 'away' }),
      member(M2, { state: 'drained', how: 'grace' }),
    ];
    const sights = { [M1]: sight({ sessions: 1 }) };
    const told = moves(step({ rows, wishes: [wish, drain(M2)], sights }));
    expect(told).toMatchObject([{ machineId: M1, waived: false, refused: false }]);
  });
  test('while the balancer is away, what was said of an earlier request is taken back', () => {
    const rows = [member(M1, { refused: true })];
    const unreachable = { sinceMs: NOW - 3_600_000, why: 'gone' };
    const asked = [drain(M1, { askedAtMs: NOW - 1_000 })];
    expect(firstOf({ rows, wishes: asked, unreachable })).toMatchObject({ refused: false });
    expect(firstOf({ rows, wishes: [serve(M1)], unreachable })).toMatchObject({ refused: false });
  });
  test('what nobody asked for is not believed of many at once', () => {
    const rows = [M1, M2, M3].map((id) => member(id));
    const unasked = { reason: DESELECTED, askedAtMs: null, leaves: true, isUnasked: true } as const;
    const wishes = [drain(M1, unasked), drain(M2, unasked), serve(M3)];
    const told = step({ rows, wishes });
    expect([told.panic, told.moves]).toEqual([[M1, M2], []]);
    expect(step({ rows, wishes, mayDropAll: true }).panic).toEqual([]);
  });
  test('vector 4: one that is not selected any more stays until those that come are active', () => {
    const wish = drain(M1, { reason: DESELECTED, askedAtMs: null, leaves: true });
    const wait = step({ rows: two, wishes: [wish, serve(M2), serve(M3)] });
    expect(moves(wait).find(({ machineId }) => machineId === M1)?.to).toBeUndefined();
    expect(firstOf({ rows: two, wishes: [wish, serve(M2)] })?.to).toBe('draining');
  });
});

describe('the end of a drain', () => {
  const rows = [draining(M1), member(M2)];
  const wishes = [drain(M1), serve(M2)];
  const seen = (change: Parameters<typeof sight>[0]) => ({ [M1]: sight(change), [M2]: sight() });
  test('when no connection is left', () => {
    const sights = seen({ mode: 'drain', sessions: 0 });
    expect(firstOf({ rows, wishes, sights })).toMatchObject({ to: 'drained', how: 'no-sessions' });
  });
  test('not while new ones may come', () => {
    const told = step({ rows, wishes, sights: seen({ mode: 'active', sessions: 0 }) });
    expect(moves(told)).toEqual([]);
    expect(modes(told)).toEqual([[M1, 'drain']]);
  });
  test('not while one is left, before the grace is over', () => {
    const told = step({ rows, wishes, sights: seen({ mode: 'drain', sessions: 1 }) });
    expect(told).toMatchObject({ moves: [], isMoving: true, dueAtMs: NOW + 30_000 });
  });
  testRows([
    [false, 'grace'],
    [true, 'forced'],
  ] as const)('after it they are cut first (force: %s)', (force, how) => {
    const [{ calls, move } = { calls: [], move: null }] = step({
      rows: [draining(M1, NOW), member(M2)],
      wishes: [drain(M1, { force }), serve(M2)],
      sights: seen({ mode: 'drain', sessions: 1 }),
    }).moves;
    expect(calls).toMatchObject([{ machineId: M1, mode: 'off' }]);
    expect(move).toMatchObject({ to: 'drained', how });
  });
  test('while new ones come the end moves on, a minute at a time', () => {
    const still = (deadlineMs: number) =>
      firstOf({
        rows: [draining(M1, deadlineMs), member(M2)],
        wishes,
        sights: seen({ mode: 'active', sessions: 1 }),
      });
    expect(still(NOW + 1)).toBeUndefined();
    expect(still(NOW)).toMatchObject({ to: 'draining', graceMs: 60_000, newDeadline: true });
  });
  test('those that came until lately have the whole grace', () => {
    const memory = newRemembered();
    memory.openAtMs.set(M1, NOW - 5_000);
    const left = (deadlineMs: number) => {
      const sights = seen({ mode: 'drain', sessions: 1 });
      return firstOf({ rows: [draining(M1, deadlineMs), member(M2)], wishes, sights, memory });
    };
    expect(left(NOW)).toMatchObject({ to: 'draining', graceMs: 24_000, newDeadline: true });
    expect(left(NOW + 24_000), 'two clocks differ a little').toBeUndefined();
  });
  test('its servers are not there any more', () => {
    expect(firstOf({ rows, wishes, sights: { [M2]: sight() } })).toMatchObject({ how: 'gone' });
  });
  test('on the word of an old look nobody is let go', () => {
    expect(step({ rows, wishes, sights: null })).toMatchObject({ moves: [], needsLook: true });
  });
  test('where draining is removing, the grace begins when the servers are gone', () => {
    const memory = newRemembered();
    const how = (absentSinceMs: number) => {
      memory.absentSinceMs.set(M1, absentSinceMs);
      const sights = { [M2]: sight() };
      return firstOf({ rows, wishes, sights, capabilities: REMOVE, memory })?.how;
    };
    expect(how(NOW - 29_999)).toBeUndefined();
    expect(how(NOW - 30_000)).toBe('grace');
  });
  test('when it is to serve again it does', () => {
    const sights = seen({ mode: 'drain', sessions: 3 });
    const told = step({ rows, wishes: [serve(M1), serve(M2)], sights });
    expect(moves(told)[0]).toMatchObject({ machineId: M1, to: 'active' });
    expect(modes(told)).toEqual([[M1, 'active']]);
  });
});

describe('machines that are not well', () => {
  test('go at once, their connections are cut', () => {
    const told = step({
      rows: [member(M1), member(M2)],
      wishes: [drop(M1), serve(M2)],
      sights: { [M1]: sight({ sessions: 7 }), [M2]: sight() },
    });
    expect(told.moves[0]?.calls).toMatchObject([{ machineId: M1, mode: 'off' }]);
    expect(moves(told)[0]).toMatchObject({ to: 'drained', how: 'gone', note: 'it is silent' });
  });
  test('where draining is removing, they are let go when the servers are gone', () => {
    const rows = [member(M1), member(M2)];
    const both = { [M1]: sight(), [M2]: sight() };
    const wishes = [drop(M1), serve(M2)];
    const first = firstOf({ rows, wishes, sights: both, capabilities: REMOVE });
    expect(first).toMatchObject({ to: 'draining', graceMs: 0 });
    const then = firstOf({
      rows: [draining(M1, NOW), member(M2)],
      wishes,
      sights: { [M2]: sight() },
      capabilities: REMOVE,
    });
    expect(then).toMatchObject({ to: 'drained', how: 'gone' });
  });
  test('vector 22: more than half of the active ones, and more than one, do not go', () => {
    const rows = [member(M1), member(M2), member(M3)];
    const wishes = [drop(M1), drop(M2), serve(M3)];
    expect(step({ rows, wishes })).toMatchObject({ moves: [], panic: [M1, M2] });
    expect(moves(step({ rows, wishes, mayDropAll: true }))).toHaveLength(2);
  });
  test('vector 22: what is not known any more counts as well', () => {
    expect(step({ rows: [member(M1), member(M2)] }).panic).toEqual([M1, M2]);
  });
  test('a drain by plan is no reason for alarm', () => {
    const rows = [member(M1), member(M2)];
    const wishes = [
      drain(M1, { force: true, leaves: true }),
      drain(M2, { force: true, leaves: true }),
    ];
    expect(step({ rows, wishes }).panic).toEqual([]);
  });
  test('nor is who is worked on by order, though nobody waited for the balancer', () => {
    const rows = [member(M1), member(M2), member(M3)];
    const wishes = [
      { ...drop(M1), isOrdered: true as const },
      { ...drop(M2), isOrdered: true as const },
    ];
    expect(step({ rows, wishes: [...wishes, serve(M3)] }).panic).toEqual([]);
    expect(step({ rows, wishes: [...wishes, drop(M3)] }).panic, 'one by surprise').toEqual([]);
    const [first] = wishes;
    expect(step({ rows, wishes: [first!, drop(M2), drop(M3)] }).panic).toEqual([M2, M3]);
  });
  test('of which nobody can tell stay what they are', () => {
    const sights = { [M1]: sight(), [M2]: sight() };
    const told = step({ rows: [member(M1), member(M2)], wishes: [keep(M1), keep(M2)], sights });
    expect(told).toMatchObject({ moves: [], modes: [] });
  });
  test('seen down for a minute: that is told, and nothing more', () => {
    const down = (sinceMs: number) => {
      const memory = newRemembered();
      memory.downSinceMs.set(M1, sinceMs);
      const sights = { [M1]: sight({ health: 'down' }) };
      return moves(step({ rows: [member(M1)], wishes: [serve(M1)], sights, memory }));
    };
    expect(down(NOW - DOWN_MS + 1)).toEqual([]);
    expect(down(NOW - DOWN_MS)).toEqual([
      { machineId: M1, note: 'the balancer does not see it well' },
    ]);
  });
});

test('a machine that the pool has no use for is forgotten when its servers are gone', () => {
  const rows = [member(M1, { state: 'drained', how: 'grace' })];
  const wishes = [drain(M1, { reason: DESELECTED, askedAtMs: null, leaves: true })];
  expect(moves(step({ rows, wishes, sights: { [M1]: sight() } }))).toEqual([]);
  expect(moves(step({ rows, wishes, sights: {} }))).toEqual([{ machineId: M1, to: 'gone' }]);
  expect(moves(step({ rows, wishes: [drop(M1)], sights: {} }))).toEqual([]);
});

test('vector 17: of two machines at one address the lower id serves, the other leaves', () => {
  const told = step({ wishes: [serve(M1, '10.0.0.9'), serve(M2, '10.0.0.9')] });
  expect(moves(told)).toEqual([{ machineId: M1, to: 'joining', note: null }]);
});

describe('of machines that share an address', () => {
  const A = '10.0.0.9';
  const at = sight({ addresses: new Set([A]), sessions: 1 });
  const to = (change: Parameters<typeof step>[0]) =>
    moves(step(change)).map((move) => [move.machineId, move.to]);
  test('the one that is a member stays, whatever the ids', () => {
    const wishes = [serve(M1, A), serve(M2, A)];
    expect(to({ rows: [member(M2)], wishes, sights: { [M2]: at } })).toEqual([]);
  });
  testRows([
    ['drains', draining(M2), drain(M2)],
    ['nobody can tell of', member(M2), keep(M2)],
  ] as const)('one that %s keeps others out, until it is gone', (_, row, wish) => {
    const rows = [row, member(M3)];
    const wishes = [serve(M1, A), wish, serve(M3)];
    const others = { [M3]: sight() };
    expect(to({ rows, wishes, sights: { ...others, [M2]: at } })).toEqual([]);
    const blind = step({ rows, wishes, sights: null });
    expect([blind.needsLook, moves(blind)]).toEqual([true, []]);
    const gone = [member(M2, { state: 'drained', how: 'grace' }), member(M3)];
    expect(to({ rows: gone, wishes, sights: { ...others, [M2]: at } })).toEqual([[M1, 'joining']]);
  });
});

test('a pool that is torn down lets everybody go, the last one, too', () => {
  const told = step({ rows: [member(M1)], wishes: [serve(M1)], isTornDown: true });
  expect(moves(told)).toMatchObject([{ to: 'draining', note: 'the pool is torn down' }]);
});
