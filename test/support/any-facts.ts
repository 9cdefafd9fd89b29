import fc from 'fast-check';
import type { HoldRow, MachineRow, SlotFacts } from '../../src/domain/machine.ts';
import { PROCESSES, PROVIDER_STATUSES } from '../../src/domain/machine.ts';
import { ORDER_VERBS } from '../../src/domain/verbs.ts';
import { STANDING_RUNGS } from '../../src/domain/recovery/rungs.ts';
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
} from './facts.ts';

/** Arbitrary facts of one slot, consistent or not. */

const MINUTE = 60_000;
const recovering = ladderRow({ attempts: 1, askedAtMs: NOW_MS });

export const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null });
export const instant = fc.integer({ min: NOW_MS - 90 * MINUTE, max: NOW_MS + 90 * MINUTE });
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
    startAttempt: nullable(
      fc.record({ atMs: instant, count: fc.nat(8), unreached: fc.constant(0) }),
    ),
    recovery: nullable(
      fc
        .tuple(
          nullable(instant),
          fc.constantFrom(...STANDING_RUNGS),
          nullable(fc.constantFrom(...STANDING_RUNGS)),
        )
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
        cause: nullable(fc.constant('chronic')),
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
  .tuple(
    fc.constantFrom('no-start', 'no-recover', 'no-allocate', 'preserve'),
    nullable(instant),
    nullable(instant),
  )
  .map(([kind, untilMs, fromMs]) => hold(kind, untilMs, fromMs));

export const anyFacts: fc.Arbitrary<SlotFacts> = fc
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
