import { SessionExpired, Unreachable } from '../../src/domain/errors.ts';
import { session } from '../../src/machines/session.ts';
import { tableTests, type Act } from '../support/chart-table.ts';

/**
 * Sessions, as the BMDB's rules have them: poked twice per interval; a poke that fails is repeated
 * after a fifth of it, so several times before the deadline; a session that expired ends at once.
 */
const lost = new Unreachable('no database');
const expired = new SessionExpired('the row is gone');
const passed = new SessionExpired('the deadline passed');
const opened: Act = ['ends', 'openSession', 'session-1'];
const failure = (code: string) => ({ failure: { code } });
const deadline = {
  when: ['fails', 'watchDeadline', passed],
  to: 'ended',
  knows: failure('session-expired'),
} as const;

tableTests({
  chart: session,
  input: { intervalMs: 10_000 },
  services: { openSession: 'promise', poke: 'promise', watchDeadline: 'promise' },
  actions: ['reportPokeFailure'],
  // What the supervisor sees of it is the tag.
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
      {
        when: opened,
        to: 'alive.resting',
        effects: [['calls', 'watchDeadline', undefined]],
        knows: { sessionId: 'session-1', failure: null },
      },
      { when: ['fails', 'openSession', lost], to: 'ended', knows: failure('unreachable') },
    ],
    'alive.resting': [
      { when: ['after', 5_000], to: 'alive.poking', effects: [['calls', 'poke', undefined]] },
      deadline,
      { when: ['ends', 'watchDeadline'], to: 'alive.resting' },
    ],
    'alive.poking': [
      { when: ['ends', 'poke'], to: 'alive.resting' },
      {
        when: ['fails', 'poke', lost],
        to: 'alive.retrying',
        effects: [['does', 'reportPokeFailure', { error: lost }]],
        knows: { failure: null },
      },
      {
        when: ['fails', 'poke', expired],
        to: 'ended',
        effects: [['stops', 'watchDeadline']],
        knows: { failure: { code: 'session-expired', message: 'the row is gone' } },
      },
      { ...deadline, effects: [['stops', 'poke']] },
      { when: ['ends', 'watchDeadline'], to: 'alive.poking' },
    ],
    'alive.retrying': [
      { when: ['after', 2_000], to: 'alive.poking', effects: [['calls', 'poke', undefined]] },
      deadline,
      { when: ['ends', 'watchDeadline'], to: 'alive.retrying' },
    ],
  },
  stories: [
    {
      name: 'a session of five seconds is poked after 2.5 s, and again 1 s after a failure',
      input: { intervalMs: 5_000 },
      from: [opened],
      steps: [
        { when: ['after', 2_500], to: 'alive.poking', effects: [['calls', 'poke', undefined]] },
        {
          when: ['fails', 'poke', lost],
          to: 'alive.retrying',
          effects: [['does', 'reportPokeFailure', { error: lost }]],
        },
        { when: ['after', 1_000], to: 'alive.poking', effects: [['calls', 'poke', undefined]] },
        { when: ['ends', 'poke'], to: 'alive.resting' },
        { when: ['after', 2_500], to: 'alive.poking', effects: [['calls', 'poke', undefined]] },
      ],
    },
  ],
});
