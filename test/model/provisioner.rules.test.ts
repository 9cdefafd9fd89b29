import { codeOf, SessionExpired, Unreachable } from '../../src/domain/errors.ts';
import { provisioner } from '../../src/machines/provisioner.ts';
import {
  tableTests,
  type ChartAct,
  type ChartOutcome,
  type ChartRule,
  on,
} from '../support/chart-table.ts';

/**
 * One daemon at a time provisions a provider, so each round begins with the job's lease. The round
 * resolves what an earlier life left open before it lists, and creates only what it planned itself.
 */
const ROUND = { provider: 'stub' };
const PERIOD_MS = 60_000;
const lost = new Unreachable('the provider does not answer');
const expired = new SessionExpired('too late');
const calls = (service: string): ChartOutcome => ['calls', service, ROUND];
const ends = (service: string, output?: unknown): ChartAct => ['ends', service, output];
const listed = { kind: 'listed' };
const pause = (pauseMs: number) => ({ kind: 'paused', pauseMs, reason: 'slow down' });
const told: ChartOutcome = ['does', 'reportRound', ROUND];

const fails = (service: string, error: Error): ChartRule =>
  on(['fails', service, error], 'backingOff', [['does', 'reportFailure', { ...ROUND, error }]], {
    failure: { code: codeOf(error), message: error.message },
  });
const paused = (pauseMs: number): ChartRule =>
  on(ends('listBoth', pause(pauseMs)), 'paused', [
    ['does', 'reportPause', { ...ROUND, listed: pause(pauseMs) }],
  ]);
const again = (ms: number): ChartRule => on(['after', ms], 'awaitingLease', [calls('takeLease')]);
const refused: ChartRule = fails('takeLease', lost);

const leased = [ends('takeLease')];
const resolved = [...leased, ends('resolveIntents')];
const both = [...resolved, ends('listBoth', listed)];
const nothingDue = [...both, ends('planRound', 0)];
const twoDue = [...both, ends('planRound', 2)];
const creating = [...twoDue, ends('recordFindings')];
const rested = [...nothingDue, ends('recordFindings')];

/** A whole round that plans nothing. */
const idleRound: readonly ChartRule[] = [
  on(ends('takeLease'), 'resolving', [calls('resolveIntents')]),
  on(ends('resolveIntents'), 'listing', [calls('listBoth')]),
  on(ends('listBoth', listed), 'planning', [calls('planRound')]),
  on(ends('planRound', 0), 'observing', [calls('recordFindings')]),
  on(ends('recordFindings'), 'resting', [told], { failure: null }),
];

tableTests({
  chart: provisioner,
  input: { provider: 'stub', periodMs: PERIOD_MS },
  services: {
    takeLease: 'promise',
    resolveIntents: 'promise',
    listBoth: 'promise',
    planRound: 'promise',
    recordFindings: 'promise',
    beginCreations: 'promise',
  },
  actions: ['reportRound', 'reportPause', 'reportFailure'],
  start: { to: 'awaitingLease', effects: [calls('takeLease')] },
  ways: {
    awaitingLease: [],
    resolving: leased,
    listing: resolved,
    planning: both,
    'observing#nothing is due': nothingDue,
    'observing#two are due': twoDue,
    creating,
    resting: rested,
    'resting#after creations': [...creating, ends('beginCreations')],
    'paused#for long': [...resolved, ends('listBoth', pause(90_000))],
    'paused#for a moment': [...resolved, ends('listBoth', pause(250))],
    'paused#until now': [...resolved, ends('listBoth', pause(-5))],
    backingOff: [['fails', 'takeLease', lost]],
  },
  rules: {
    awaitingLease: [idleRound[0]!, fails('takeLease', expired), refused],
    resolving: [idleRound[1]!, fails('resolveIntents', lost)],
    listing: [idleRound[2]!, paused(90_000), paused(1), fails('listBoth', lost)],
    planning: [
      idleRound[3]!,
      on(ends('planRound', 2), 'observing', [calls('recordFindings')]),
      fails('planRound', lost),
    ],
    'observing#nothing is due': [idleRound[4]!, fails('recordFindings', lost)],
    'observing#two are due': [
      on(ends('recordFindings'), 'creating', [calls('beginCreations')]),
      fails('recordFindings', lost),
    ],
    creating: [on(ends('beginCreations'), 'resting', [told]), fails('beginCreations', lost)],
    resting: [again(PERIOD_MS)],
    'resting#after creations': [again(PERIOD_MS)],
    // In steps of a minute, because an operator may lift the hold meanwhile.
    'paused#for long': [again(60_000)],
    'paused#for a moment': [again(250)],
    'paused#until now': [again(1)],
    backingOff: [again(PERIOD_MS)],
  },
  stories: [
    {
      name: 'failures in a row are further apart, five minutes at most, until a round succeeds',
      steps: [
        ...[60_000, 120_000, 240_000, 300_000, 300_000].flatMap((ms) => [refused, again(ms)]),
        ...idleRound,
        again(PERIOD_MS),
        refused,
        again(60_000),
      ],
    },
    {
      name: 'a pause between failures is no success',
      steps: [
        ...[refused, again(60_000), ...idleRound.slice(0, 2), paused(250), again(250)],
        ...[refused, again(120_000)],
      ],
    },
    {
      name: 'a short period still leaves a second after a failure',
      input: { provider: 'stub', periodMs: 10 },
      steps: [refused, again(1_000), refused, again(2_000)],
    },
    {
      name: 'what one round planned is not created by the next',
      from: [...creating, ends('beginCreations')],
      steps: [again(PERIOD_MS), ...idleRound],
    },
    {
      name: 'a creation that could not be begun is not begun before all is looked at again',
      from: creating,
      steps: [fails('beginCreations', lost), again(PERIOD_MS), ...idleRound],
    },
  ],
});
