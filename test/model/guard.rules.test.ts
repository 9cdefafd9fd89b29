import { expect } from 'vitest';
import { Unreachable } from '../../src/domain/errors.ts';
import type { GuardState } from '../../src/domain/recovery/guard-status.ts';
import { guard, type GuardFindings } from '../../src/machines/guard.ts';
import {
  tableTests,
  type ChartAct,
  type ChartOutcome,
  type Follows,
  type ChartRule,
  on,
} from '../support/chart-table.ts';

/**
 * The guard suspects ourselves first. It lets nobody through until the database has described the
 * fleet, nor after a failed assessment, whatever was known before.
 */
const lost = new Unreachable('no database');
const late = new Error('the database did not answer in time');
const nudge: ChartAct = ['told', { type: 'guard.nudged' }];

const findings = (state: GuardState, others: readonly GuardState[] = []): GuardFindings => ({
  // Without meaning to the chart, which has to keep the newest.
  rows: [{ of: state }] as unknown as GuardFindings['rows'],
  counts: [{ of: state }] as unknown as GuardFindings['counts'],
  standings: [state, ...others].map((each, at) => ({
    scope: at === 0 ? 'fleet' : `provider-${at}`,
    state: each,
    sinceMs: null,
    reason: each === 'watching' ? null : `it is ${each}`,
  })),
});
const assesses = (found: GuardFindings): ChartAct => ['ends', 'assess', found];
const at = (standing: string, round: string) => `standing.${standing} & round.${round}`;

const blinded = (error: Error): Follows => ({
  to: at('blind', 'resting'),
  effects: [['does', 'reportBlind', { error }]],
  knows: {
    standings: [{ scope: 'fleet', state: 'blind' }],
    reason: expect.stringContaining('database'),
    failure: { message: error.message },
  },
});
const found = (given: GuardFindings, state: GuardState): ChartRule =>
  on(
    assesses(given),
    at(state, 'settling'),
    [
      ['does', 'reportFindings', { findings: given }],
      ['calls', 'settleGuardRequests', undefined],
    ],
    { ...given, reason: state === 'watching' ? null : `it is ${state}`, failure: null },
  );
/** Where each of the four findings, and a missing finding, lead from every earlier knowledge. */
const assessing = (standing: string): readonly ChartRule[] => [
  ...(['watching', 'grace', 'suspicious', 'frozen', 'blind'] as const).map((state) =>
    found(findings(state), state),
  ),
  found(findings('watching', ['frozen']), 'frozen'),
  found(findings('watching', ['watching', 'suspicious']), 'suspicious'),
  { when: ['fails', 'assess', lost], ...blinded(lost) },
  {
    when: ['after', 30_000],
    ...blinded(late),
    effects: [
      ['stops', 'assess'],
      ['does', 'reportBlind', { error: late }],
    ],
  },
  on(nudge, at(standing, 'assessing')),
];
const assess: ChartOutcome = ['calls', 'assess', undefined];
const settle: ChartOutcome = ['calls', 'settleGuardRequests', undefined];
const unsettled = (error: Error): ChartOutcome => ['does', 'reportUnsettled', { error }];

const settling = (standing: string): readonly ChartRule[] => [
  on(['ends', 'settleGuardRequests'], at(standing, 'resting')),
  on(['fails', 'settleGuardRequests', lost], at(standing, 'resting'), [unsettled(lost)]),
  on(['after', 30_000], at(standing, 'resting'), [
    ['stops', 'settleGuardRequests'],
    unsettled(late),
  ]),
  on(nudge, at(standing, 'settling')),
];
const resting = (standing: string): readonly ChartRule[] => [
  on(['after', 5_000], at(standing, 'assessing'), [assess]),
  on(nudge, at(standing, 'assessing'), [assess]),
];
const frozen = [assesses(findings('frozen'))];
const watching = [assesses(findings('watching'))];
const settled: ChartAct = ['ends', 'settleGuardRequests'];

tableTests({
  chart: guard,
  input: { assessMs: 5_000 },
  services: { assess: 'promise', settleGuardRequests: 'promise' },
  actions: ['reportFindings', 'reportBlind', 'reportUnsettled'],
  events: ['guard.nudged'],
  start: {
    to: at('blind', 'assessing'),
    effects: [assess],
    knows: { standings: [{ state: 'blind' }] },
  },
  ways: {
    [at('blind', 'assessing')]: [],
    [at('frozen', 'settling')]: frozen,
    [at('frozen', 'resting')]: [...frozen, settled],
    [at('frozen', 'assessing')]: [...frozen, settled, nudge],
    [at('watching', 'settling')]: watching,
    [at('watching', 'resting')]: [...watching, settled],
    [at('watching', 'assessing')]: [...watching, settled, nudge],
    [at('blind', 'resting')]: [['fails', 'assess', lost]],
    [`${at('blind', 'assessing')}#after a failure`]: [['fails', 'assess', lost], nudge],
  },
  rules: {
    [at('blind', 'assessing')]: assessing('blind'),
    [at('frozen', 'settling')]: settling('frozen'),
    [at('frozen', 'resting')]: resting('frozen'),
    [at('frozen', 'assessing')]: assessing('frozen'),
    [at('watching', 'settling')]: settling('watching'),
    [at('watching', 'resting')]: resting('watching'),
    [at('watching', 'assessing')]: assessing('watching'),
    [at('blind', 'resting')]: resting('blind'),
    [`${at('blind', 'assessing')}#after a failure`]: assessing('blind'),
  },
  stories: [
    {
      name: 'what changes during an assessment is seen by a second one, and only by one',
      steps: [
        on(nudge, at('blind', 'assessing')),
        { ...found(findings('watching'), 'watching') },
        on(settled, at('watching', 'assessing'), [assess]),
        { ...found(findings('watching'), 'watching') },
        on(settled, at('watching', 'resting')),
      ],
    },
    {
      name: 'so is what changes while requests are carried out',
      from: watching,
      steps: [
        on(nudge, at('watching', 'settling')),
        on(settled, at('watching', 'assessing'), [assess]),
        {
          ...found(findings('suspicious'), 'suspicious'),
          effects: [['does', 'reportFindings', { findings: findings('suspicious') }], settle],
        },
        on(settled, at('suspicious', 'resting')),
      ],
    },
  ],
});
