import { describe, expect, test } from 'vitest';
import {
  FILTER_OF,
  headlineOf,
  headlineText,
  SHARE_WORDS,
  shareWord,
} from '../../src/domain/headline.ts';
import { readFilter } from '../../src/domain/machine-filter.ts';
import { STATES, SUBSTATES, type MachineState } from '../../src/domain/states.ts';
import { testRows } from '../support/rows.ts';

const places = STATES.flatMap((state) => SUBSTATES[state].map((substate) => ({ state, substate })));
const headline = (...counts: readonly (readonly [MachineState, string, number])[]) =>
  headlineOf(
    counts.map(([state, substate, machines]) => ({
      word: shareWord({ state, substate }),
      machines,
    })),
  );

describe('the headline', () => {
  test('D2: distinguishes dead machines from healthy ones', () => {
    const told = headline(['Running', 'silent', 10], ['Running', 'healthy', 2]);
    expect(headlineText(told)).toBe('2 healthy · 10 silent of 12');
    expect(told).toMatchObject({ total: 12, tone: 'bad' });
  });

  test('tells of healthy machines with conditions', () => {
    const told = headlineOf([{ word: 'healthy', machines: 6 }], 1);
    expect(headlineText(told)).toBe('6 healthy of 6, 1 with conditions');
    expect(told.tone).toBe('warn');
  });

  test('never calls a machine running', () => {
    expect(headlineText(headline(['Running', 'silent', 6]))).toBe('6 silent of 6');
    for (const place of places) expect(String(shareWord(place))).not.toMatch(/running/i);
  });

  testRows([
    ['good', headline(['Running', 'healthy', 3])],
    ['warn', headline(['Running', 'healthy', 3], ['Running', 'late', 1])],
    ['warn', headline(['Recovering', 'rebooting', 1], ['Reserved', 'available', 1])],
    ['bad', headline(['Running', 'healthy', 3], ['Quarantined', 'conflict', 1])],
    ['quiet', headline(['Running', 'healthy', 3], ['Quarantined', 'byOperator', 1])],
  ] as const)('takes the colour %s from its gravest part', (tone, told) => {
    expect(told.tone).toBe(tone);
  });

  test('adds separate counts and leaves out slots that are gone', () => {
    const told = headline(
      ['Recovering', 'claiming', 1],
      ['Recovering', 'rebooting', 2],
      ['Released', 'gone', 7],
    );
    expect(headlineText(told)).toBe('3 recovering of 3');
    expect(headlineText(headline(['Released', 'gone', 7]))).toBe('no machines');
  });

  test('has a word for a step that only the worker knows', () => {
    expect(shareWord({ state: 'AgentStarting', substate: 'uploading' })).toBe('starting');
    expect(shareWord({ state: 'Deprovisioning', substate: 'claiming' })).toBe('deprovisioning');
  });

  testRows(SHARE_WORDS)('links %s to a filter that lists exactly these machines', (word) => {
    const { filter } = readFilter(FILTER_OF[word]);
    const [term] = filter!.terms;
    const values = term?.kind === 'state' ? term.values : [];
    for (const { state, substate } of places) {
      const [outer, both] = [state.toLowerCase(), `${state}/${substate}`.toLowerCase()];
      const isListed = values.includes(outer) || values.includes(both);
      expect(isListed, both).toBe(shareWord({ state, substate }) === word);
    }
  });
});
