import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createState } from '../../../src/simulator/fakequinix/state/genesis.ts';
import type { Timer, TimerKind } from '../../../src/simulator/fakequinix/state/state.ts';
import { createManualClock } from '../../../src/simulator/fakequinix/time/clock.ts';
import { createGenerator } from '../../../src/simulator/fakequinix/time/random.ts';
import { createScheduler } from '../../../src/simulator/fakequinix/time/scheduler.ts';

const KINDS: readonly TimerKind[] = ['installed', 'machine-up', 'clean'];
const subjects = ['a', 'b', 'c'];

type Step =
  | { do: 'add'; kind: TimerKind; subject: string; delayMs: number }
  | { do: 'cancel'; subject: string; kinds?: TimerKind[] | undefined }
  | { do: 'advance'; ms: number };

const kind = fc.constantFrom(...KINDS);
const subject = fc.constantFrom(...subjects);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), kind, subject, delayMs: fc.nat(8) }),
  fc.record({
    do: fc.constant('cancel' as const),
    subject,
    kinds: fc.option(fc.array(kind, { maxLength: 2 }), { nil: undefined }),
  }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat(6) }),
);

/** A scheduler on a manual clock, and what it ran. */
function setUp() {
  const state = createState({}, 0, createGenerator(1), 0);
  const clock = createManualClock(state.nowMs);
  const ran: string[] = [];
  const scheduler = createScheduler(state, clock, clock.now);
  scheduler.start(({ kind: what, subject: whose }) => ran.push(`${clock.now()} ${what} ${whose}`));
  const advance = (ms: number) => {
    const targetMs = clock.now() + ms;
    while (clock.stepTowards(targetMs));
  };
  return { clock, ran, scheduler, advance };
}

describe('the scheduler', () => {
  it('runs what a plain list of timers would run, in its order', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { ran, scheduler, advance, clock } = setUp();
        let naive: Omit<Timer, 'id'>[] = [];
        const expected: string[] = [];
        for (const one of steps) {
          if (one.do === 'add') {
            scheduler.add(one.kind, one.subject, one.delayMs);
            naive.push({ ...one, dueAtMs: clock.now() + one.delayMs });
          } else if (one.do === 'cancel') {
            scheduler.cancel(one.subject, one.kinds);
            naive = naive.filter(
              (timer) =>
                timer.subject !== one.subject || (one.kinds && !one.kinds.includes(timer.kind)),
            );
          } else {
            advance(one.ms);
            const due = naive
              .filter((timer) => timer.dueAtMs <= clock.now())
              .toSorted((a, b) => a.dueAtMs - b.dueAtMs);
            expected.push(...due.map((t) => `${t.dueAtMs} ${t.kind} ${t.subject}`));
            naive = naive.filter((timer) => timer.dueAtMs > clock.now());
          }
          for (const whose of subjects) {
            expect(scheduler.has(whose)).toBe(naive.some((timer) => timer.subject === whose));
          }
        }
        expect(ran).toEqual(expected);
      }),
    );
  });

  it('reaches beyond what a timer of the runtime can wait', () => {
    const { ran, scheduler, advance } = setUp();
    scheduler.add('clean', 'a', 2 ** 32);
    advance(2 ** 32 - 1);
    expect(ran).toEqual([]);
    advance(1);
    expect(ran).toEqual([`${2 ** 32} clean a`]);
  });
});
