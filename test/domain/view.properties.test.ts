import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { HoldRow, MachineRow, SlotFacts } from '../../src/domain/machine.ts';
import { ORDER_VERBS, PROCESSES, PROVIDER_STATUSES, RUNGS } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { STATES, SUBSTATES } from '../../src/domain/states.ts';
import { viewOf, type MachineView } from '../../src/domain/view.ts';
import { RESTS } from '../model/lifecycle.table.ts';
import { PLACES } from '../support/views.ts';
import {
  agentStarted,
  backoff,
  deprovisionAsked,
  device,
  free,
  hold,
  intentRow,
  ladderRow,
  liveWork,
  machineRow,
  NOW_MS,
  orderRow,
  penaltyRow,
  provided,
  requestRow,
  slotFacts,
} from '../support/facts.ts';

const MINUTE = 60_000;
const moment = { nowMs: NOW_MS, loss: DEFAULT_LOSS };
const recovering = ladderRow({ attempts: 1, askedAtMs: NOW_MS });

const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
const instant = fc.integer({ min: NOW_MS - 90 * MINUTE, max: NOW_MS + 90 * MINUTE });
const generation = fc.constantFrom(null, 1n, 2n);

const anyRow: fc.Arbitrary<MachineRow> = fc
  .record({
    provided: nullable(
      fc.constantFrom(null, ...PROVIDER_STATUSES).map((status) => provided({ status })),
    ),
    agentStarted: nullable(instant.map((atMs) => agentStarted(atMs))),
    heartbeat: nullable(instant.map((atMs) => ({ atMs, bootId: 'boot-1' }))),
    installation: fc.record({
      requestGeneration: generation,
      handedOutAtMs: nullable(instant),
      reportGeneration: generation,
      reportResult: fc.constantFrom(null, 'Success', 'Error'),
    }),
    startAttempt: nullable(fc.record({ atMs: instant, count: fc.nat(8) })),
    recovery: nullable(
      fc
        .tuple(nullable(instant), fc.constantFrom(...RUNGS), nullable(fc.constantFrom(...RUNGS)))
        .map(([nextAtMs, rung, askedRung]) => ({ ...recovering, rung, askedRung, nextAtMs })),
    ),
    order: nullable(
      fc
        .tuple(fc.constantFrom(...ORDER_VERBS), instant)
        .map(([verb, expiresAtMs]) => orderRow({ verb, expiresAtMs })),
    ),
    permit: fc.boolean(),
    quarantine: nullable(
      fc.record({
        kind: fc.constantFrom('needsHuman', 'conflict', 'byOperator'),
        reason: fc.constant('because'),
        untilMs: nullable(instant),
      }),
    ),
    deprovision: fc.constantFrom(null, null, null, deprovisionAsked()),
    work: fc
      .uniqueArray(fc.constantFrom(...PROCESSES), { maxLength: 2 })
      .map((all) => all.map((process) => liveWork(process))),
    backoffs: fc
      .uniqueArray(fc.tuple(fc.constantFrom(...PROCESSES), instant), {
        selector: ([process]) => process,
        maxLength: 3,
      })
      .map((all) => all.map(([process, untilMs]) => backoff(process, untilMs))),
  })
  .map((change) => machineRow(change));

const anyHold: fc.Arbitrary<HoldRow> = fc
  .tuple(fc.constantFrom('no-start', 'no-recover', 'no-allocate', 'preserve'), nullable(instant))
  .map(([kind, untilMs]) => hold(kind, untilMs));

const anyFacts: fc.Arbitrary<SlotFacts> = fc
  .record({
    listed: fc.constantFrom(null, free(), device(), device({ availability: 'PossiblyUsed' })),
    listingComplete: fc.boolean(),
    row: fc.oneof({ weight: 4, arbitrary: anyRow }, { weight: 1, arbitrary: fc.constant(null) }),
    intent: fc.constantFrom(null, intentRow(), intentRow({ state: 'unresolved' })),
    holds: fc.array(anyHold, { maxLength: 3 }),
    penalty: nullable(instant.map((untilMs) => penaltyRow(untilMs))),
    requests: fc.array(
      fc
        .tuple(fc.constantFrom('hold' as const, ...ORDER_VERBS), instant)
        .map(([verb, expiresAtMs]) => requestRow({ verb, expiresAtMs })),
      { maxLength: 2 },
    ),
    conflict: fc.constantFrom(null, null, null, 'two devices'),
  })
  .map((change) => slotFacts(change));

/** What a view says, without the time at which to look again. */
const saying = ({ dueAtMs: _, ...rest }: MachineView) => rest;

describe('viewOf, over any facts', () => {
  test('names exactly one of the known places, and work only for a machine that is there', () => {
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

  test('the clock alone changes nothing before the due time, and something just after it', () => {
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
