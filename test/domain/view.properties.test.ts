import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { STATES, SUBSTATES } from '../../src/domain/states.ts';
import { viewOf, type MachineView } from '../../src/domain/view.ts';
import { RESTS } from '../model/lifecycle.table.ts';
import { anyFacts } from '../support/any-facts.ts';
import { NOW_MS } from '../support/facts.ts';
import { PLACES } from '../support/views.ts';

const MINUTE = 60_000;
const moment = { nowMs: NOW_MS, loss: DEFAULT_LOSS };

/** A view without the time of its next change. */
const saying = ({ dueAtMs: _, ...rest }: MachineView) => rest;

describe('viewOf over random facts', () => {
  test('gives exactly one known state, and work only for an existing machine', () => {
    const places = new Set(PLACES.map((place) => place.join('.')));
    const atRest = new Set(
      RESTS.map(({ state, substate, next }) => [state, substate, next].join(' ')),
    );
    fc.assert(
      fc.property(anyFacts, (facts) => {
        const found = viewOf(facts, moment);
        expect(STATES).toContain(found.state);
        expect(places).toContain(`${found.state}.${found.substate}`);
        expect(atRest).toContain([found.state, found.substate, found.next].join(' '));
        if (found.next !== null) {
          expect(facts.row?.provided).toBeTruthy();
          expect(['Provisioned', 'Running', 'Recovering', 'Deprovisioning']).toContain(found.state);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('changes by the clock only just after the due time', () => {
    fc.assert(
      fc.property(anyFacts, fc.double({ min: 0, max: 1, noNaN: true }), (facts, share) => {
        const found = viewOf(facts, moment);
        expect(SUBSTATES[found.state]).toContain(found.substate);
        if (found.dueAtMs === null) {
          const later = { ...moment, nowMs: NOW_MS + share * 1_000 * MINUTE };
          expect(saying(viewOf(facts, later))).toEqual(saying(found));
          return;
        }
        expect(found.dueAtMs).toBeGreaterThanOrEqual(NOW_MS);
        const before = NOW_MS + Math.floor(share * (found.dueAtMs - 1 - NOW_MS));
        if (before >= NOW_MS) {
          expect(saying(viewOf(facts, { ...moment, nowMs: before }))).toEqual(saying(found));
        }
        const after = viewOf(facts, { ...moment, nowMs: found.dueAtMs + 1 });
        expect(saying(after)).not.toEqual(saying(found));
      }),
      { numRuns: 5_000 },
    );
  });
});
