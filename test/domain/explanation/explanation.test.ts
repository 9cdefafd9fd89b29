import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { explanationOf, SENTENCE_MAX } from '../../../src/domain/explanation/explanation.ts';
import {
  BLOCK_KINDS,
  type Explanation,
  type ExplanationFacts,
} from '../../../src/domain/explanation/types.ts';
import { STATES, SUBSTATES, type MachineState } from '../../../src/domain/states.ts';
import { deprovision } from '../../../src/machines/deprovision.ts';
import { recovery } from '../../../src/machines/recovery.ts';
import { agentStart } from '../../../src/machines/agent-start.ts';
import { anyFacts } from '../../support/any-facts.ts';
import type { ConditionRow } from '../../../src/domain/conditions.ts';
import { conditionRow } from '../../support/conditions.ts';
import { backoff, hold, NOW_MS, penaltyRow, free } from '../../support/facts.ts';
import { factsOf } from '../../support/fact-words.ts';
import { explained, guardRow, HOUR, MINUTE, moment, silentRow } from './stand.ts';
import { testRows } from '../../support/rows.ts';

/** Steps that only the worker knows, from the charts of the tasks. */
const STEPS: Partial<Record<MachineState, readonly string[]>> = {
  AgentStarting: Object.keys(agentStart.states),
  Recovering: Object.keys(recovery.states),
  Deprovisioning: Object.keys(deprovision.states),
};
const PLACES = STATES.flatMap((state) =>
  [...new Set([...SUBSTATES[state], ...(STEPS[state] ?? [])])].map(
    (substate) => [state, substate] as const,
  ),
);

/** Whether the explanation names what to wait for or what to do. */
function saysWhatEndsIt({ blockedBy, next }: Explanation): boolean {
  const areEnded = blockedBy.every(({ endedBy, text }) => endedBy.length > 0 && text.length > 0);
  return (
    areEnded && (blockedBy.length > 0 || next.work !== null || next.text.length > 'nothing'.length)
  );
}

describe('V13: the explanation of a machine', () => {
  testRows(PLACES)('has a sentence and an end for %s · %s', (state, substate) => {
    fc.assert(
      fc.property(anyFacts, (slot) => {
        const found = explanationOf(explained(slot, { shown: { state, substate } }), moment);
        expect(found.sentence.startsWith(`${state} · ${substate}`)).toBe(true);
        expect(found.sentence.length).toBeLessThanOrEqual(SENTENCE_MAX);
        expect(found.sentence).toMatch(/ because .+; next: .+\.$/);
        expect(found.sentence).not.toMatch(/undefined|NaN|null|Infinity/);
      }),
      { numRuns: 40 },
    );
  });

  test('has a sentence, an end, and blocks with the latest end first, for any facts', () => {
    fc.assert(
      fc.property(anyFacts, (slot) => {
        const found = explanationOf(explained(slot), moment);
        expect(found.sentence.length).toBeLessThanOrEqual(SENTENCE_MAX);
        expect(saysWhatEndsIt(found)).toBe(true);
        const ends = found.blockedBy.map(({ endsAtMs }) => endsAtMs ?? Number.MAX_VALUE);
        expect(ends).toEqual(ends.toSorted((a, b) => b - a));
        for (const { kind } of found.blockedBy) expect(BLOCK_KINDS).toContain(kind);
      }),
      { numRuns: 400 },
    );
  });

  test('says that a machine needs a person after too long a silence', () => {
    const heardAgo = (text: string) =>
      explanationOf(explained(factsOf(`started 5h, beat ${text}`)), moment).sentence;
    expect(heardAgo('2h')).toContain(
      ' because no heartbeat came within 10m; it needs a person; it waits for its turn; next: ',
    );
    expect(heardAgo('1h')).not.toContain('person');
  });

  test('keeps foreign texts to one line of visible characters within the limit', () => {
    const text = `\u001b[31m<img onerror=x>\n${'long '.repeat(200)}`;
    const row = { ...silentRow, backoffs: [backoff('ShepherdRecovery', NOW_MS + MINUTE, text)] };
    const held = { ...hold('no-recover'), setBy: text, reason: text };
    for (const slot of [
      { row, holds: [held] },
      { listed: free(), penalty: penaltyRow(NOW_MS + HOUR, { cause: text }) },
      factsOf('', { quarantine: { kind: 'conflict', reason: text, untilMs: null, cause: null } }),
    ]) {
      const { sentence, blockedBy } = explanationOf(explained(slot), moment);
      expect(sentence.length).toBeLessThanOrEqual(SENTENCE_MAX);
      for (const told of [sentence, ...blockedBy.map((each) => each.text)]) {
        expect(told).not.toMatch(/\p{Cc}/u);
      }
    }
  });

  test('covers a silent machine under a hold that also waits for a permit', () => {
    const facts = explained(
      { row: silentRow, holds: [{ ...hold('no-recover', NOW_MS + 2 * HOUR), setBy: 'ann' }] },
      { queue: { scope: 'location fr2', place: 3, of: 5 } },
    );
    expect(explanationOf(facts, moment).sentence).toBe(
      'Running · silent for 14m because no heartbeat came within 10m; ' +
        "ann's hold no-recover forbids recovery for 2h more, then it is 3rd of 5 for a permit " +
        'of fr2; next: restart of its agent, after both.',
    );
  });

  test('covers a machine whose host key changed', () => {
    const reason = 'its SSH host key changed';
    const slot = factsOf('', {
      quarantine: { kind: 'conflict', reason, untilMs: null, cause: null },
    });
    const facts = explained(slot, { seenSinceMs: NOW_MS - 2 * HOUR });
    expect(explanationOf(facts, moment).sentence).toBe(
      'Quarantined · conflict for 2h because its SSH host key changed; ' +
        'nothing is done until an operator releases it; next: nothing.',
    );
  });

  test('covers a slot on cooldown', () => {
    const cause = 'its creation was refused: no capacity for this plan';
    const slot = { listed: free(), penalty: penaltyRow(NOW_MS + 40 * MINUTE, { cause }) };
    const facts = explained(slot, { seenSinceMs: NOW_MS - 20 * MINUTE });
    expect(explanationOf(facts, moment).sentence).toBe(
      `Reserved · penalised for 20m because ${cause}; ` +
        'in cooldown for 40m more, or until `provider clear`; next: creation.',
    );
  });
});

test('V14: contains hold, backoff and freeze, the latest end first', () => {
  const frozen = {
    atMs: NOW_MS,
    by: 'guard',
    kind: 'silence',
    reason: '9 of 9 fell silent',
    untilMs: null,
    cause: null,
  } as const;
  const facts = explained(
    factsOf('started 5h, beat 14m, backoff Recovery 5m no_route, hold no-recover 2h'),
    { guard: { rows: [guardRow({ frozen, calmSinceMs: NOW_MS - MINUTE })], counts: [] } },
  );
  const { blockedBy, next } = explanationOf(facts, moment);
  expect(blockedBy.map(({ kind, endsAtMs }) => [kind, endsAtMs])).toEqual([
    ['hold', NOW_MS + 2 * HOUR],
    ['freeze', NOW_MS + 9 * MINUTE],
    ['backoff', NOW_MS + 5 * MINUTE],
  ]);
  expect(next).toEqual({
    work: 'recovery',
    atMs: NOW_MS + 2 * HOUR,
    text: 'restart of its agent, after all of that',
  });
});

test('a freeze by an operator with an end is told with that end', () => {
  const untilMs = NOW_MS + 80 * MINUTE;
  const frozen = {
    atMs: NOW_MS,
    by: 'ann',
    kind: 'manual',
    reason: 'new switch',
    untilMs,
    cause: null,
  } as const;
  const facts = explained(factsOf('started 5h, beat 14m'), {
    guard: { rows: [guardRow({ frozen })], counts: [] },
  });
  expect(explanationOf(facts, moment).blockedBy).toMatchObject([
    {
      kind: 'freeze',
      text: 'recovery of the fleet is frozen: ann: new switch',
      endedBy: 'itself, at its end; or an operator: shepherd fleet thaw',
      endsAtMs: untilMs,
    },
  ]);
});

describe('V15: changes when a timer has passed', () => {
  /** All but the sentence, whose ages grow with time. */
  const saying = (facts: ExplanationFacts, nowMs: number) => {
    const { sentence: _, ...rest } = explanationOf(facts, { ...moment, nowMs });
    return rest;
  };

  test('drops a block just after its announced end', () => {
    fc.assert(
      fc.property(anyFacts, (slot) => {
        const facts = explained(slot);
        const { blockedBy, next } = explanationOf(facts, moment);
        for (const at of [next.atMs, ...blockedBy.map(({ endsAtMs }) => endsAtMs)]) {
          if (at === null) continue;
          expect(at).toBeGreaterThanOrEqual(NOW_MS);
          expect(saying(facts, at + 1)).not.toEqual(saying(facts, NOW_MS));
        }
      }),
      { numRuns: 800 },
    );
  });

  test('contains only the queue after the hold has ended', () => {
    const facts = explained(
      { row: silentRow, holds: [hold('no-recover', NOW_MS + MINUTE)] },
      { queue: { scope: 'fleet', place: 1, of: 1 } },
    );
    const kinds = (nowMs: number) => saying(facts, nowMs).blockedBy.map(({ kind }) => kind);
    expect(kinds(NOW_MS)).toEqual(['budget', 'hold']);
    expect(kinds(NOW_MS + MINUTE + 1)).toEqual(['budget']);
  });
});

describe('the explanation of a machine with conditions', () => {
  const conditions = [conditionRow({ type: 'a', status: 'Unknown' }), conditionRow()];

  test('names a true condition with its source and reason, and how many there are', () => {
    const one = explanationOf(explained({ row: silentRow, conditions }), moment);
    expect(one.sentence).toContain('; condition disk-failing (agent): sda: 2 media errors; ');
    const more = [...conditions, conditionRow({ type: 'raid-degraded' })];
    const two = explanationOf(explained({ row: silentRow, conditions: more }), moment);
    expect(two.sentence).toContain('; 2 conditions, such as disk-failing (agent): sda: 2 media');
    const none = explained({ row: silentRow, conditions: conditions.slice(0, 1) });
    expect(explanationOf(none, moment).sentence).not.toContain('condition');
  });

  test('names the condition that begins first, and says when one begins later', () => {
    const later = conditionRow({
      ...{ type: 'a', source: 'provider', reason: 'new switch', fromMs: NOW_MS + MINUTE },
    });
    const saying = (rows: readonly ConditionRow[], nowMs = NOW_MS) =>
      explanationOf(explained({ row: silentRow, conditions: rows }), { ...moment, nowMs }).sentence;
    const from = new Date(NOW_MS + MINUTE).toISOString();
    expect(saying([later])).toContain(`; condition a from ${from} (provider): new switch; `);
    expect(saying([later], NOW_MS + MINUTE)).toContain('; condition a (provider): new switch; ');
    expect(saying([later, conditionRow()])).toContain('; 2 conditions, such as disk-failing (');
  });

  test('says that the source of a condition ends its hold', () => {
    const held = { ...hold('no-allocate'), setBy: 'condition disk-failing', reason: 'agent: sda' };
    const found = explanationOf(explained({ listed: free(), holds: [held] }), moment);
    expect(found.blockedBy).toMatchObject([
      {
        text: "condition disk-failing's hold no-allocate forbids creation: agent: sda",
        endedBy: 'the source of the condition: shepherd machine condition clear',
      },
    ]);
  });
});
