import { afterEach, beforeEach, expect, vi } from 'vitest';
import {
  codeOf,
  LeaseLost,
  SessionExpired,
  Throttled,
  Unreachable,
} from '../../src/domain/errors.ts';
import type { Stage } from '../../src/domain/balancing/plan.ts';
import { balancer } from '../../src/machines/balancer.ts';
import { tableTests, type Act, type Done, type Rule } from '../support/chart-table.ts';

/**
 * One daemon writes to a balancer at a time, and a call that changes something there is never cut off
 * because something else is wanted meanwhile: that is noted, and seen with the next look. Without the
 * job, while it is paused, and after it was stopped, nothing is read or written.
 */
const PLACE = { pool: 'api', balancer: 'edge' };
const lost = new Unreachable('the balancer does not answer');
const taken = new LeaseLost('the job is of another daemon now');
const expired = new SessionExpired('the session has ended');
const busy = new Throttled('slow down', 90_000);
/** Longer than any test looks on. */
const REST_MS = 7_200_000;
const STANDING = { isPaused: false, generation: 4, failures: 0, retryAtMs: null };
const EVENTS = ['members.changed', 'desired.changed', 'pool.pause', 'pool.resume', 'pool.stop'];

const told = (type: string): Act => ['told', { type }];
const ends = (service: string, output?: unknown): Act => ['ends', service, output];
const calls = (service: string, more: object = {}): Done => [
  'calls',
  service,
  { ...PLACE, ...more },
];
const does = (action: string, more: object = {}): Done => ['does', action, { ...PLACE, ...more }];
const stops = (...services: readonly string[]): Done[] => services.map((each) => ['stops', each]);
const at = (objects: string, members = 'resting') =>
  `tending.objects.${objects} & members.${members}`;

const leased = ends('takeLease', STANDING);
const checked = (stage: Stage, againMs: number | null = null): Act =>
  ends('check', { stage, againMs });
const stepped = (isDesiredNew = false): Act =>
  ends('stepMembers', { isDesiredNew, restMs: REST_MS });
const begins = [calls('observe'), calls('stepMembers')];
const observed: Act = ends('observe');

/** What leads nowhere, and does nothing. */
const ignores = (state: string, ...types: readonly string[]): Rule[] =>
  types.map((type) => ({ when: told(type), to: state }));
/** From wherever the pool is tended: an operator's pause, and the end. */
const leaves = (...running: readonly string[]): Rule[] => [
  { when: told('pool.pause'), to: 'paused', effects: stops(...running) },
  { when: told('pool.stop'), to: 'stopped', effects: stops(...running) },
];
const steps = (objects: string): Rule => ({
  when: told('members.changed'),
  to: at(objects, 'stepping'),
  effects: [calls('stepMembers')],
});
/** A step that fails is told and tried again later; when the job is lost all is left as it is. */
const fails = (service: string, ...others: readonly string[]): Rule[] => [
  {
    when: ['fails', service, lost],
    to: at('failed'),
    effects: [does('reportFailure', { error: lost, failures: 1 })],
    knows: { failure: { code: codeOf(lost) }, failures: 1, retryAtMs: null },
  },
  {
    when: ['fails', service, busy],
    to: at('failed'),
    effects: [does('reportFailure', { error: busy, failures: 1 })],
    knows: { retryAtMs: 90_000 },
  },
  ...[taken, expired].map((error): Rule => ({
    when: ['fails', service, error],
    to: 'awaitingLease',
    effects: [...stops(...others), calls('takeLease')],
  })),
];
/** Of a state whose call runs to its end, whatever is desired meanwhile. */
const calling = (state: string, service: string): Rule[] => [
  ...ignores(at(state), 'pool.resume'),
  { when: told('desired.changed'), to: at(state), knows: { generation: 5, isDesiredNew: true } },
  steps(state),
  ...leaves(service),
  ...fails(service),
];

const tending = [leased, stepped()];
const checking = [...tending, observed, stepped()];
const to = (stage: Stage): readonly Act[] => [...checking, checked(stage)];
const polling = to('waiting');
const sleeping = [...polling, ends('poll', 'pending'), stepped()];
const failed: readonly Act[] = [...tending, ['fails', 'observe', lost]];
const paused = ends('takeLease', { ...STANDING, isPaused: true });
const settles = does('reportSettled', { generation: 4 });
const polls = (looks: number) => calls('poll', { looks });

// Whatever is told to an actor that has ended, XState warns of; it is what some rules are about.
let warned: readonly unknown[][];
beforeEach(() => {
  warned = vi.spyOn(console, 'warn').mockReturnValue().mock.calls;
});
afterEach(() => {
  for (const [text] of warned) expect(text).toContain('was sent to stopped actor');
});

tableTests({
  chart: balancer,
  input: PLACE,
  services: Object.fromEntries(
    ['takeLease', 'observe', 'check', 'recover', 'destroy', 'create', 'poll', 'stepMembers'].map(
      (service) => [service, 'promise' as const],
    ),
  ),
  actions: ['reportSettled', 'reportFailure', 'reportStepFailure'],
  events: EVENTS,
  start: { to: 'awaitingLease', effects: [calls('takeLease')] },
  ways: {
    awaitingLease: [],
    barred: [['fails', 'takeLease', lost]],
    [at('retrieving', 'stepping')]: [leased],
    [at('retrieving')]: tending,
    [at('retrieving', 'backingOff')]: [leased, ['fails', 'stepMembers', lost]],
    [at('checking')]: checking,
    [`${at('checking')}#else is desired`]: [...checking, told('desired.changed')],
    [at('recovering')]: to('recovering'),
    [at('destroying')]: to('leaving'),
    [at('creating')]: to('creating'),
    [at('waiting.polling')]: polling,
    [at('waiting.sleeping')]: sleeping,
    [at('settled')]: to('settled'),
    [at('failed')]: failed,
    [`${at('failed')}#brought forward`]: [...failed, told('desired.changed')],
    [`${at('failed')}#to be left alone`]: [...tending, ['fails', 'observe', busy]],
    paused: [...tending, told('pool.pause')],
    'paused#from the beginning': [paused],
    stopped: [told('pool.stop')],
    'stopped#while it was tended': [...tending, told('pool.stop')],
  },
  rules: {
    awaitingLease: [
      { when: leased, to: at('retrieving', 'stepping'), effects: begins, knows: { generation: 4 } },
      { when: paused, to: 'paused' },
      {
        when: ends('takeLease', { ...STANDING, failures: 2 }),
        to: at('failed', 'stepping'),
        effects: [calls('stepMembers')],
        knows: { failures: 2 },
      },
      ...[lost, expired].map((error): Rule => ({
        when: ['fails', 'takeLease', error],
        to: 'barred',
        effects: [does('reportStepFailure', { error })],
      })),
      ...ignores('awaitingLease', ...EVENTS.slice(0, 4)),
      { when: told('pool.stop'), to: 'stopped', effects: stops('takeLease') },
    ],
    barred: [
      { when: ['after', 1_000], to: 'awaitingLease', effects: [calls('takeLease')] },
      ...ignores('barred', ...EVENTS.slice(0, 4)),
      { when: told('pool.stop'), to: 'stopped' },
    ],
    [at('retrieving', 'stepping')]: [
      { when: stepped(), to: at('retrieving') },
      { when: stepped(true), to: at('retrieving'), knows: { generation: 5, isDesiredNew: true } },
      {
        when: ['fails', 'stepMembers', lost],
        to: at('retrieving', 'backingOff'),
        effects: [does('reportStepFailure', { error: lost })],
      },
      {
        when: ['fails', 'stepMembers', taken],
        to: 'awaitingLease',
        effects: [...stops('observe'), calls('takeLease')],
      },
      // Rows are written to their end; what is told meanwhile is one more step after this one.
      {
        when: told('members.changed'),
        to: at('retrieving', 'stepping'),
        knows: { isStepDue: true },
      },
      {
        when: observed,
        to: at('checking', 'stepping'),
        effects: [calls('check')],
        knows: { isStepDue: true },
      },
      {
        when: ['fails', 'observe', lost],
        to: at('failed', 'stepping'),
        effects: [does('reportFailure', { error: lost, failures: 1 })],
      },
      ...ignores(at('retrieving', 'stepping'), 'desired.changed', 'pool.resume'),
      ...leaves('observe', 'stepMembers'),
    ],
    [at('retrieving')]: [
      { when: observed, to: at('checking', 'stepping'), effects: [calls('check'), begins[1]!] },
      ...calling('retrieving', 'observe'),
      { when: ['after', REST_MS], to: at('retrieving', 'stepping'), effects: [begins[1]!] },
    ],
    // The database has to be left alone for a moment, whatever is told.
    [at('retrieving', 'backingOff')]: [
      { when: ['after', 1_000], to: at('retrieving', 'stepping'), effects: [begins[1]!] },
      { when: observed, to: at('checking', 'backingOff'), effects: [calls('check')] },
      {
        when: ['fails', 'observe', lost],
        to: at('failed', 'backingOff'),
        effects: [does('reportFailure', { error: lost, failures: 1 })],
      },
      ...ignores(at('retrieving', 'backingOff'), 'members.changed', 'pool.resume'),
      ...ignores(at('retrieving', 'backingOff'), 'desired.changed'),
      ...leaves('observe'),
    ],
    [at('checking')]: [
      ...(['dropping', 'clashing', 'leaving'] as const).map((stage): Rule => ({
        when: checked(stage),
        to: at('destroying'),
        effects: [calls('destroy')],
      })),
      { when: checked('recovering'), to: at('recovering'), effects: [calls('recover')] },
      { when: checked('creating'), to: at('creating'), effects: [calls('create')] },
      { when: checked('waiting'), to: at('waiting.polling'), effects: [polls(1)] },
      { when: checked('settled'), to: at('settled'), effects: [settles] },
      // What the panic guard froze is neither made nor destroyed.
      { when: checked('frozen'), to: at('settled'), effects: [settles] },
      ...calling('checking', 'check'),
    ],
    [`${at('checking')}#else is desired`]: [
      { when: checked('creating'), to: at('creating'), effects: [calls('create')] },
      // What nobody looked for is not told to be settled.
      { when: checked('settled'), to: at('retrieving'), effects: [calls('observe')] },
      { when: checked('frozen'), to: at('retrieving'), effects: [calls('observe')] },
      ...fails('check'),
      ...ignores(at('checking'), 'desired.changed', 'pool.resume'),
      steps('checking'),
      ...leaves('check'),
    ],
    [at('recovering')]: [
      { when: ends('recover'), to: at('waiting.polling'), effects: [polls(1)] },
      ...calling('recovering', 'recover'),
    ],
    [at('destroying')]: [
      { when: ends('destroy'), to: at('retrieving'), effects: [calls('observe')] },
      ...calling('destroying', 'destroy'),
    ],
    [at('creating')]: [
      { when: ends('create'), to: at('waiting.polling'), effects: [polls(1)] },
      ...calling('creating', 'create'),
    ],
    [at('waiting.polling')]: [
      {
        when: ends('poll', 'pending'),
        to: at('waiting.sleeping', 'stepping'),
        effects: [calls('stepMembers')],
      },
      ...['ready', 'failed'].map((as): Rule => ({
        when: ends('poll', as),
        to: at('retrieving'),
        effects: [calls('observe')],
      })),
      ...fails('poll'),
      // Nothing is changed by a look, so it keeps nobody waiting.
      {
        when: told('desired.changed'),
        to: at('retrieving'),
        effects: [...stops('poll'), calls('observe')],
        knows: { generation: 5 },
      },
      ...ignores(at('waiting.polling'), 'pool.resume'),
      steps('waiting.polling'),
      ...leaves('poll'),
    ],
    [at('waiting.sleeping')]: [
      { when: ['after', 1_750], to: at('waiting.polling'), effects: [polls(2)] },
      { when: told('desired.changed'), to: at('retrieving'), effects: [calls('observe')] },
      ...ignores(at('waiting.sleeping'), 'pool.resume'),
      steps('waiting.sleeping'),
      ...leaves(),
    ],
    [at('settled')]: [
      { when: ['after', 300_000], to: at('retrieving'), effects: [calls('observe')] },
      {
        when: told('desired.changed'),
        to: at('retrieving'),
        effects: [calls('observe')],
        knows: { generation: 5, isDesiredNew: false },
      },
      ...ignores(at('settled'), 'pool.resume'),
      steps('settled'),
      ...leaves(),
    ],
    [at('failed')]: [
      { when: ['after', 5_000], to: at('retrieving'), effects: [calls('observe')] },
      { when: told('desired.changed'), to: at('failed'), knows: { isHurried: true } },
      ...ignores(at('failed'), 'pool.resume'),
      steps('failed'),
      ...leaves(),
    ],
    [`${at('failed')}#brought forward`]: [
      { when: ['after', 1_000], to: at('retrieving'), effects: [calls('observe')] },
      ...ignores(at('failed'), 'desired.changed', 'pool.resume'),
      steps('failed'),
      ...leaves(),
    ],
    [`${at('failed')}#to be left alone`]: [
      { when: ['after', 5_000], to: at('retrieving'), effects: [calls('observe')] },
      { when: told('desired.changed'), to: at('failed'), knows: { isHurried: false } },
      ...ignores(at('failed'), 'pool.resume'),
      steps('failed'),
      ...leaves(),
    ],
    paused: pausedRules(),
    'paused#from the beginning': pausedRules(),
    stopped: ignores('stopped', ...EVENTS),
    'stopped#while it was tended': ignores('stopped', ...EVENTS),
  },
  stories: [
    {
      name: 'what is desired while it is created is looked for after it is created',
      from: to('creating'),
      steps: [
        { when: told('desired.changed'), to: at('creating') },
        { when: told('desired.changed'), to: at('creating'), knows: { generation: 6 } },
        { when: ends('create'), to: at('waiting.polling'), effects: [polls(1)] },
        { when: ends('poll', 'ready'), to: at('retrieving'), effects: [calls('observe')] },
      ],
    },
    {
      name: 'a change of what is desired brings the next try forward once, and not again and again',
      from: failed,
      steps: [
        { when: told('desired.changed'), to: at('failed') },
        { when: ['after', 600], to: at('failed') },
        { when: told('desired.changed'), to: at('failed') },
        { when: ['after', 400], to: at('retrieving'), effects: [calls('observe')] },
      ],
    },
    {
      name: 'failures in a row are further apart, until it is settled',
      from: failed,
      steps: [
        { when: ['after', 5_000], to: at('retrieving'), effects: [calls('observe')] },
        {
          when: ['fails', 'observe', lost],
          to: at('failed'),
          effects: [does('reportFailure', { error: lost, failures: 2 })],
        },
        { when: ['after', 10_000], to: at('retrieving'), effects: [calls('observe')] },
        { when: observed, to: at('checking', 'stepping'), effects: [calls('check'), begins[1]!] },
        { when: stepped(), to: at('checking') },
        { when: checked('settled'), to: at('settled'), effects: [settles], knows: { failures: 0 } },
      ],
    },
    {
      name: 'a frozen pool is looked at again when the panic guard wants to',
      from: [...checking, checked('frozen', 60_000)],
      steps: [{ when: ['after', 60_000], to: at('retrieving'), effects: [calls('observe')] }],
    },
    {
      name: 'members step on while objects are made, and what they change is only noted',
      from: to('creating'),
      steps: [
        steps('creating'),
        { when: stepped(true), to: at('creating'), knows: { isDesiredNew: true } },
      ],
    },
    {
      name: 'what was told during a step is one more step, and only one',
      from: [leased, told('members.changed'), told('members.changed')],
      steps: [
        { when: stepped(), to: at('retrieving', 'stepping'), effects: [begins[1]!] },
        { when: stepped(), to: at('retrieving') },
      ],
    },
    {
      name: 'the database is asked less and less often while it takes nothing',
      from: [leased, ['fails', 'stepMembers', lost]],
      steps: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].flatMap((ms): Rule[] => [
        { when: ['after', ms], to: at('retrieving', 'stepping'), effects: [begins[1]!] },
        {
          when: ['fails', 'stepMembers', lost],
          to: at('retrieving', 'backingOff'),
          effects: [does('reportStepFailure', { error: lost })],
        },
      ]),
    },
    {
      name: 'so is the job',
      from: [['fails', 'takeLease', lost]],
      steps: [1_000, 2_000, 4_000].flatMap((ms): Rule[] => [
        { when: ['after', ms], to: 'awaitingLease', effects: [calls('takeLease')] },
        {
          when: ['fails', 'takeLease', lost],
          to: 'barred',
          effects: [does('reportStepFailure', { error: lost })],
        },
      ]),
    },
    {
      name: 'what a pool was paused in is not gone on with: all is looked at anew',
      from: [...to('creating'), told('pool.pause')],
      steps: [{ when: told('pool.resume'), to: at('retrieving', 'stepping'), effects: begins }],
    },
  ],
});

function pausedRules(): Rule[] {
  return [
    { when: told('pool.resume'), to: at('retrieving', 'stepping'), effects: begins },
    ...ignores('paused', 'members.changed', 'desired.changed', 'pool.pause'),
    { when: told('pool.stop'), to: 'stopped' },
  ];
}
