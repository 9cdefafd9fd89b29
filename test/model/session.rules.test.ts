import { SessionExpired, Unreachable } from '../../src/domain/errors.ts';
import { session } from '../../src/machines/session.ts';
import { tableTests, type ChartAct, on } from '../support/chart-table.ts';

/**
 * Sessions by the rules of the BMDB: two pokes per interval; a failed poke is repeated after a
 * fifth of the interval, so several times before the deadline; an expired session ends at once.
 */
const lost = new Unreachable('no database');
const expired = new SessionExpired('the row is gone');
const passed = new SessionExpired('the deadline passed');
const opened: ChartAct = ['ends', 'openSession', 'session-1'];
const failure = (code: string) => ({ failure: { code } });
const deadline = on(['fails', 'watchDeadline', passed], 'ended', [], failure('session-expired'));

tableTests({
  chart: session,
  input: { intervalMs: 10_000 },
  services: { openSession: 'promise', poke: 'promise', watchDeadline: 'promise' },
  actions: ['reportPokeFailure'],
  // The supervisor sees the tag.
  stateOf: ({ value, tags }) =>
    [...tags, ...(typeof value === 'string' ? [value] : Object.values(value as object))].join('.'),
  start: { to: 'opening', effects: [['calls', 'openSession', { intervalMs: 10_000 }]] },
  ways: {
    opening: [],
    'alive.resting': [opened],
    'alive.poking': [opened, ['after', 5_000]],
    'alive.retrying': [opened, ['after', 5_000], ['fails', 'poke', lost]],
  },
  rules: {
    opening: [
      on(opened, 'alive.resting', [['calls', 'watchDeadline', undefined]], {
        sessionId: 'session-1',
        failure: null,
      }),
      on(['fails', 'openSession', lost], 'ended', [], failure('unreachable')),
    ],
    'alive.resting': [
      on(['after', 5_000], 'alive.poking', [['calls', 'poke', undefined]]),
      deadline,
      on(['ends', 'watchDeadline'], 'alive.resting'),
    ],
    'alive.poking': [
      on(['ends', 'poke'], 'alive.resting'),
      on(
        ['fails', 'poke', lost],
        'alive.retrying',
        [['does', 'reportPokeFailure', { error: lost }]],
        { failure: null },
      ),
      on(['fails', 'poke', expired], 'ended', [['stops', 'watchDeadline']], {
        failure: { code: 'session-expired', message: 'the row is gone' },
      }),
      { ...deadline, effects: [['stops', 'poke']] },
      on(['ends', 'watchDeadline'], 'alive.poking'),
    ],
    'alive.retrying': [
      on(['after', 2_000], 'alive.poking', [['calls', 'poke', undefined]]),
      deadline,
      on(['ends', 'watchDeadline'], 'alive.retrying'),
    ],
  },
  stories: [
    {
      name: 'a session of five seconds is poked after 2.5 s, and again 1 s after a failure',
      input: { intervalMs: 5_000 },
      from: [opened],
      steps: [
        on(['after', 2_500], 'alive.poking', [['calls', 'poke', undefined]]),
        on(['fails', 'poke', lost], 'alive.retrying', [
          ['does', 'reportPokeFailure', { error: lost }],
        ]),
        on(['after', 1_000], 'alive.poking', [['calls', 'poke', undefined]]),
        on(['ends', 'poke'], 'alive.resting'),
        on(['after', 2_500], 'alive.poking', [['calls', 'poke', undefined]]),
      ],
    },
  ],
});
