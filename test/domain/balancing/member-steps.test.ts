import { describe, expect, test } from 'vitest';
import { DOWN_MS } from '../../../src/domain/balancing/member-steps.ts';
import { newRemembered } from '../../../src/domain/balancing/sights.ts';
import { rowsIn } from '../../support/fact-words.ts';
import { testRows } from '../../support/rows.ts';
import { M1 } from './pool.ts';
import { caseOf, NOW, step, toldOf } from './step-case.ts';

/** Members, their desired states and the balancer's readings, and the resulting steps. */
const testSteps = (title: string, table: string) =>
  testRows(rowsIn(table))(`${title}: %s`, (words, expected) => {
    expect(toldOf(words)).toBe(expected);
  });

testSteps(
  'a machine that is to serve becomes a member, and active once it is well',
  `
  | serve A, drain B, drop C |                    → A joining
  A drained grace | serve A |                     → A joining not waived not refused
  A joining 0s | serve A | A drain partial        →
  A joining 0s | serve A | A drain unknown        → A warming
  A joining 0s | serve A | A drain up             → A active, A=active
  A joining | serve A | A unchecked | removing    → A active
  A joining | serve A | blind                     → look
  A warming 119s999ms | serve A | A drain down    →
  A warming 2m | serve A | A drain down           → A active (the balancer does not report it healthy), A=active`,
);

test('looks at a member again when its warm-up ends', () => {
  const warming = caseOf('A warming 119s999ms | serve A | A drain down');
  expect(step(warming).dueAtMs).toBe(NOW + 1);
});

const LAST = 'A stays (not before another is active: 0 are left, and 1 must be)';
const TURN = 'A stays (it waits for its turn: 1 is away already)';
const THREE = 'drain A, serve B, serve C | A, B drain 1, C';
testSteps(
  'let go by plan it gets no new connections; vector 20: not the last one, unless by force',
  `
  A active, B active | drain A, serve B | A, B                           → A draining 30s, A=drain
  A active | drain A | A                                                 → ${LAST}
  A active | drain A force | A                                           → A draining 30s, A=drain
  A active, B active | drain A, serve B | A, B down                      → ${LAST}
  A active, B active | serve A, drain B | A, B down                      → B draining 30s, B=drain
  A active, B active | drain A, serve B | A                              → ${LAST}
  A active, B active | drain A, serve B | A, B drain                     → ${LAST}, B=active
  A active, B active | drain A, serve B | A, B partial open0             → ${LAST}
  A active, B active | drain A, serve B | A open2, B partial open1       → ${LAST}
  A active, B active | drain A, serve B | A partial open1, B partial open1 → A draining 30s, A=drain
  A active | drain A | A partial open1                                   → ${LAST}
  A active, B active | drain A, serve B | blind                          → look
  A active, B active | drain A, serve B | blind | removing               → look
  A active, B active | drain A force, serve B | blind                    → A draining 30s`,
);

testSteps(
  'one is let go at a time, and who asked first goes first',
  `
  A active, B active, C active | drain A asked3, drain B asked2, serve C | A, B, C → B draining 30s, ${TURN}, B=drain
  A active, B drained grace 1m, C active | drain A, drop B, serve C | A, B drain 1, C → ${TURN}
  A active, B joining 0s, C active | ${THREE}                            → B active, ${TURN}, B=active
  A active, B drained grace 1h, C active | drain A, drop B, serve C | A, C → A draining 30s, A=drain
  A active, B drained gone 0s, C active | drain A, drop B, serve C | A, C → A draining 30s, A=drain
  A active, B draining, C active | drain A, drain B leaves, serve C | A, B drain 1, C → A draining 30s, A=drain`,
);

testSteps(
  'who was not waited for is waited for again',
  `
  A active waived refused, B drained grace | drain A, drain B | A 1      → A stays not waived not refused (it waits for its turn: 1 is away already)
  A active waived refused, B drained grace | keep A, drain B | A 1       → A stays not waived not refused (away)
  A draining waived refused, B drained grace | drain A, drain B | A 1    → A stays not waived not refused, A=drain`,
);

const UNSELECTED = 'the pool does not select it';
testSteps(
  'vector 4: one that is not selected any more stays until those that come are active',
  `
  A active, B active | drain A deselected, serve B, serve C | A, B       → C joining, A stays (${UNSELECTED}; it stays until joining members are active)
  A active, B active | drain A deselected, serve B | A, B                → A draining 30s (${UNSELECTED}), A=drain
  A active, B active, C active | drain A unasked, drain B unasked, serve C | → panic A B
  A active, B active, C active | drain A unasked, drain B unasked, serve C | | accepted → A draining 30s (${UNSELECTED}), B draining 30s (${UNSELECTED})
  A drained grace | drain A deselected | A                               →
  A drained grace | drain A deselected |                                 → A gone
  A drained grace | drop A |                                             →`,
);

test('takes back what it reported about an earlier request while the balancer is away', () => {
  const unreachable = { sinceMs: NOW - 3_600_000, why: 'gone' };
  const asked = toldOf(`A active refused | drain A asked${NOW - 1_000} | blind`, { unreachable });
  expect(asked).toBe('A stays not waived not refused');
  const served = toldOf('A active refused | serve A | blind', { unreachable });
  expect(served).toBe('A stays not waived not refused');
});

describe('the end of a drain', () => {
  testSteps(
    'when no connection is left, or the grace is over',
    `
    A draining, B active | drain A, serve B | A drain 0, B               → A drained no-sessions
    A draining, B active | drain A, serve B | A 0, B                     → A=drain
    A draining, B active | drain A, serve B | A drain 1, B               →
    A draining 0s, B active | drain A, serve B | A drain 1, B            → A drained grace after off
    A draining 0s, B active | drain A force, serve B | A drain 1, B      → A drained forced after off
    A draining 1ms, B active | drain A, serve B | A 1, B                 → A=drain
    A draining 0s, B active | drain A, serve B | A 1, B                  → A draining 60s anew, A=drain
    A draining, B active | drain A, serve B | B                          → A drained gone
    A draining, B active | drain A, serve B | blind                      → look
    A draining, B active | serve A, serve B | A drain 3, B               → A active, A=active`,
  );
  test('is checked soon, and when the grace time ends', () => {
    const told = step(caseOf('A draining, B active | drain A, serve B | A drain 1, B'));
    expect(told).toMatchObject({ isMoving: true, dueAtMs: NOW + 30_000 });
  });
  test('gives the whole grace time to connections that came recently', () => {
    const memory = newRemembered();
    memory.openAtMs.set(M1, NOW - 5_000);
    const left = (ends: string) =>
      toldOf(`A draining ${ends}, B active | drain A, serve B | A drain 1, B`, { memory });
    expect(left('0s')).toBe('A draining 24s anew');
    expect(left('24s'), 'two clocks differ a little').toBe('');
  });
  test('starts the grace time when the servers are gone, if draining means removing', () => {
    const memory = newRemembered();
    const after = (ms: number) => {
      memory.absentSinceMs.set(M1, NOW - ms);
      return toldOf('A draining, B active | drain A, serve B | B | removing', { memory });
    };
    expect(after(29_999)).not.toContain('drained');
    expect(after(30_000)).toBe('A drained grace');
  });
});

testSteps(
  'machines that are not well go at once; vector 22: not more than half, and more than one',
  `
  A active, B active | drop A, serve B | A 7, B                          → A drained gone after off (it is silent)
  A active, B active | drop A, serve B | A, B | removing                 → A draining 0s (it is silent)
  A draining 0s, B active | drop A, serve B | B | removing               → A drained gone (it is silent)
  A active, B active, C active | drop A, drop B, serve C |               → panic A B
  A active, B active, C active | drop A, drop B, serve C | | accepted    → A drained gone (it is silent), B drained gone (it is silent)
  A active, B active | |                                                 → panic A B
  A active, B active | drain A force leaves, drain B force leaves |      → A draining 30s, B draining 30s
  A active, B active, C active | drop A ordered, drop B ordered, serve C | → A drained gone (it is silent), B drained gone (it is silent)
  A active, B active, C active | drop A ordered, drop B ordered, drop C | → A drained gone (it is silent), B drained gone (it is silent), C drained gone (it is silent)
  A active, B active, C active | drop A ordered, drop B, drop C |        → panic B C
  A active, B active | keep A, keep B | A, B                             →`,
);

test('only reports a member that has been down for a minute', () => {
  const down = (sinceMs: number) => {
    const memory = newRemembered();
    memory.downSinceMs.set(M1, sinceMs);
    return toldOf('A active | serve A | A down', { memory });
  };
  expect(down(NOW - DOWN_MS + 1)).toBe('');
  expect(down(NOW - DOWN_MS)).toBe('A stays (the balancer does not report it healthy)');
});

testSteps(
  'vector 17: of machines at one address a member stays, else the lower id serves',
  `
  | serve A 10.0.0.9, serve B 10.0.0.9 |                                 → A joining
  B active | serve A 10.0.0.9, serve B 10.0.0.9 | B 10.0.0.9 1           →
  B draining, C active | serve A 10.0.0.9, drain B, serve C | B 10.0.0.9 1, C → B=drain
  B draining, C active | serve A 10.0.0.9, drain B, serve C | blind      → look
  B drained grace, C active | serve A 10.0.0.9, drain B, serve C | B 10.0.0.9 1, C → A joining
  B active, C active | serve A 10.0.0.9, keep B, serve C | B 10.0.0.9 1, C →
  B active, C active | serve A 10.0.0.9, keep B, serve C | blind         → look
  B drained grace, C active | serve A 10.0.0.9, keep B, serve C | B 10.0.0.9 1, C → A joining`,
);

testSteps(
  'a pool that is torn down lets everybody go, the last one, too',
  `
  A active | serve A | A | torn down                                     → A draining 30s (the pool is torn down), A=drain`,
);
