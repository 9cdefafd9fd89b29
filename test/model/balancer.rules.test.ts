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
import {
  tableTests,
  type ChartAct,
  type ChartOutcome,
  type ChartRule,
  on,
} from '../support/chart-table.ts';

/**
 * One daemon at a time writes to a balancer. A newer wish never cuts off a call that changes
 * something: the wish is noted, and seen at the next look. Without the job, while it is paused and
 * after it was stopped, nothing is read or written.
 */
const PLACE = { pool: 'api', balancer: 'edge' };
const lost = new Unreachable('the balancer does not answer');
const taken = new LeaseLost('the job is of another daemon now');
const expired = new SessionExpired('the session has ended');
const busy = new Throttled('slow down', 90_000);
/** Longer than any test runs. */
const REST_MS = 7_200_000;
const STANDING = { isPaused: false, generation: 4, failures: 0, retryAtMs: null };
const EVENTS = ['members.changed', 'desired.changed', 'pool.pause', 'pool.resume', 'pool.stop'];

const told = (type: string): ChartAct => ['told', { type }];
const ends = (service: string, output?: unknown): ChartAct => ['ends', service, output];
const calls = (service: string, more: object = {}): ChartOutcome => [
  'calls',
  service,
  { ...PLACE, ...more },
];
const does = (action: string, more: object = {}): ChartOutcome => [
  'does',
  action,
  { ...PLACE, ...more },
];
const stops = (...services: readonly string[]): ChartOutcome[] =>
  services.map((each) => ['stops', each]);
const at = (objects: string, members = 'resting') =>
  `tending.objects.${objects} & members.${members}`;

const leased = ends('takeLease', STANDING);
const checked = (stage: Stage, againMs: number | null = null): ChartAct =>
  ends('check', { stage, againMs });
const stepped = (isDesiredNew = false): ChartAct =>
  ends('stepMembers', { isDesiredNew, restMs: REST_MS });
const begins = [calls('observe'), calls('stepMembers')];
const observed: ChartAct = ends('observe');

/** Events that lead nowhere and do nothing. */
const ignores = (state: string, ...types: readonly string[]): ChartRule[] =>
  types.map((type) => on(told(type), state));
/** An operator's pause, and the end, from every state in which the pool is tended. */
const leaves = (...running: readonly string[]): ChartRule[] => [
  on(told('pool.pause'), 'paused', stops(...running)),
  on(told('pool.stop'), 'stopped', stops(...running)),
];
const steps = (objects: string): ChartRule =>
  on(told('members.changed'), at(objects, 'stepping'), [calls('stepMembers')]);
/** A failed step is reported and retried later. When the job is lost, everything stays as it is. */
const fails = (service: string, ...others: readonly string[]): ChartRule[] => [
  on(
    ['fails', service, lost],
    at('failed'),
    [does('reportFailure', { error: lost, failures: 1 })],
    { failure: { code: codeOf(lost) }, failures: 1, retryAtMs: null },
  ),
  on(
    ['fails', service, busy],
    at('failed'),
    [does('reportFailure', { error: busy, failures: 1 })],
    { retryAtMs: 90_000 },
  ),
  ...[taken, expired].map((error): ChartRule =>
    on(['fails', service, error], 'awaitingLease', [...stops(...others), calls('takeLease')]),
  ),
];
/** For a state whose call runs to its end, whatever is desired meanwhile. */
const calling = (state: string, service: string): ChartRule[] => [
  ...ignores(at(state), 'pool.resume'),
  on(told('desired.changed'), at(state), [], { generation: 5, isDesiredNew: true }),
  steps(state),
  ...leaves(service),
  ...fails(service),
];

const tending = [leased, stepped()];
const checking = [...tending, observed, stepped()];
const to = (stage: Stage): readonly ChartAct[] => [...checking, checked(stage)];
const polling = to('waiting');
const sleeping = [...polling, ends('poll', 'pending'), stepped()];
const failed: readonly ChartAct[] = [...tending, ['fails', 'observe', lost]];
const paused = ends('takeLease', { ...STANDING, isPaused: true });
const settles = does('reportSettled', { generation: 4 });
const polls = (looks: number) => calls('poll', { looks });

// XState warns of events that reach an ended actor. Some rules are about such events.
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
      on(leased, at('retrieving', 'stepping'), begins, { generation: 4 }),
      on(paused, 'paused'),
      on(
        ends('takeLease', { ...STANDING, failures: 2 }),
        at('failed', 'stepping'),
        [calls('stepMembers')],
        { failures: 2 },
      ),
      ...[lost, expired].map((error): ChartRule =>
        on(['fails', 'takeLease', error], 'barred', [does('reportStepFailure', { error })]),
      ),
      ...ignores('awaitingLease', ...EVENTS.slice(0, 4)),
      on(told('pool.stop'), 'stopped', stops('takeLease')),
    ],
    barred: [
      on(['after', 1_000], 'awaitingLease', [calls('takeLease')]),
      ...ignores('barred', ...EVENTS.slice(0, 4)),
      on(told('pool.stop'), 'stopped'),
    ],
    [at('retrieving', 'stepping')]: [
      on(stepped(), at('retrieving')),
      on(stepped(true), at('retrieving'), [], { generation: 5, isDesiredNew: true }),
      on(['fails', 'stepMembers', lost], at('retrieving', 'backingOff'), [
        does('reportStepFailure', { error: lost }),
      ]),
      on(['fails', 'stepMembers', taken], 'awaitingLease', [
        ...stops('observe'),
        calls('takeLease'),
      ]),
      // Rows are written to their end, and events meanwhile cause one more step after this one.
      on(told('members.changed'), at('retrieving', 'stepping'), [], { isStepDue: true }),
      on(observed, at('checking', 'stepping'), [calls('check')], { isStepDue: true }),
      on(['fails', 'observe', lost], at('failed', 'stepping'), [
        does('reportFailure', { error: lost, failures: 1 }),
      ]),
      ...ignores(at('retrieving', 'stepping'), 'desired.changed', 'pool.resume'),
      ...leaves('observe', 'stepMembers'),
    ],
    [at('retrieving')]: [
      on(observed, at('checking', 'stepping'), [calls('check'), begins[1]!]),
      ...calling('retrieving', 'observe'),
      on(['after', REST_MS], at('retrieving', 'stepping'), [begins[1]!]),
    ],
    // The database gets a pause, whatever events arrive.
    [at('retrieving', 'backingOff')]: [
      on(['after', 1_000], at('retrieving', 'stepping'), [begins[1]!]),
      on(observed, at('checking', 'backingOff'), [calls('check')]),
      on(['fails', 'observe', lost], at('failed', 'backingOff'), [
        does('reportFailure', { error: lost, failures: 1 }),
      ]),
      ...ignores(at('retrieving', 'backingOff'), 'members.changed', 'pool.resume'),
      ...ignores(at('retrieving', 'backingOff'), 'desired.changed'),
      ...leaves('observe'),
    ],
    [at('checking')]: [
      ...(['dropping', 'clashing', 'leaving'] as const).map((stage): ChartRule =>
        on(checked(stage), at('destroying'), [calls('destroy')]),
      ),
      on(checked('recovering'), at('recovering'), [calls('recover')]),
      on(checked('creating'), at('creating'), [calls('create')]),
      on(checked('waiting'), at('waiting.polling'), [polls(1)]),
      on(checked('settled'), at('settled'), [settles]),
      // Nothing that the panic guard froze is created or deleted.
      on(checked('frozen'), at('settled'), [settles]),
      ...calling('checking', 'check'),
    ],
    [`${at('checking')}#else is desired`]: [
      on(checked('creating'), at('creating'), [calls('create')]),
      // A pool is not reported as settled before somebody looked.
      on(checked('settled'), at('retrieving'), [calls('observe')]),
      on(checked('frozen'), at('retrieving'), [calls('observe')]),
      ...fails('check'),
      ...ignores(at('checking'), 'desired.changed', 'pool.resume'),
      steps('checking'),
      ...leaves('check'),
    ],
    [at('recovering')]: [
      on(ends('recover'), at('waiting.polling'), [polls(1)]),
      ...calling('recovering', 'recover'),
    ],
    [at('destroying')]: [
      on(ends('destroy'), at('retrieving'), [calls('observe')]),
      ...calling('destroying', 'destroy'),
    ],
    [at('creating')]: [
      on(ends('create'), at('waiting.polling'), [polls(1)]),
      ...calling('creating', 'create'),
    ],
    [at('waiting.polling')]: [
      on(ends('poll', 'pending'), at('waiting.sleeping', 'stepping'), [calls('stepMembers')]),
      ...['ready', 'failed'].map((as): ChartRule =>
        on(ends('poll', as), at('retrieving'), [calls('observe')]),
      ),
      ...fails('poll'),
      // A look changes nothing, so it delays nobody.
      on(told('desired.changed'), at('retrieving'), [...stops('poll'), calls('observe')], {
        generation: 5,
      }),
      ...ignores(at('waiting.polling'), 'pool.resume'),
      steps('waiting.polling'),
      ...leaves('poll'),
    ],
    [at('waiting.sleeping')]: [
      on(['after', 1_750], at('waiting.polling'), [polls(2)]),
      on(told('desired.changed'), at('retrieving'), [calls('observe')]),
      ...ignores(at('waiting.sleeping'), 'pool.resume'),
      steps('waiting.sleeping'),
      ...leaves(),
    ],
    [at('settled')]: [
      on(['after', 300_000], at('retrieving'), [calls('observe')]),
      on(told('desired.changed'), at('retrieving'), [calls('observe')], {
        generation: 5,
        isDesiredNew: false,
      }),
      ...ignores(at('settled'), 'pool.resume'),
      steps('settled'),
      ...leaves(),
    ],
    [at('failed')]: [
      on(['after', 5_000], at('retrieving'), [calls('observe')]),
      on(told('desired.changed'), at('failed'), [], { isHurried: true }),
      ...ignores(at('failed'), 'pool.resume'),
      steps('failed'),
      ...leaves(),
    ],
    [`${at('failed')}#brought forward`]: [
      on(['after', 1_000], at('retrieving'), [calls('observe')]),
      ...ignores(at('failed'), 'desired.changed', 'pool.resume'),
      steps('failed'),
      ...leaves(),
    ],
    [`${at('failed')}#to be left alone`]: [
      on(['after', 5_000], at('retrieving'), [calls('observe')]),
      on(told('desired.changed'), at('failed'), [], { isHurried: false }),
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
        on(told('desired.changed'), at('creating')),
        on(told('desired.changed'), at('creating'), [], { generation: 6 }),
        on(ends('create'), at('waiting.polling'), [polls(1)]),
        on(ends('poll', 'ready'), at('retrieving'), [calls('observe')]),
      ],
    },
    {
      name: 'a change of what is desired brings the next try forward once, and not again and again',
      from: failed,
      steps: [
        on(told('desired.changed'), at('failed')),
        on(['after', 600], at('failed')),
        on(told('desired.changed'), at('failed')),
        on(['after', 400], at('retrieving'), [calls('observe')]),
      ],
    },
    {
      name: 'failures in a row are further apart, until it is settled',
      from: failed,
      steps: [
        on(['after', 5_000], at('retrieving'), [calls('observe')]),
        on(['fails', 'observe', lost], at('failed'), [
          does('reportFailure', { error: lost, failures: 2 }),
        ]),
        on(['after', 10_000], at('retrieving'), [calls('observe')]),
        on(observed, at('checking', 'stepping'), [calls('check'), begins[1]!]),
        on(stepped(), at('checking')),
        on(checked('settled'), at('settled'), [settles], { failures: 0 }),
      ],
    },
    {
      name: 'a frozen pool is looked at again when the panic guard wants to',
      from: [...checking, checked('frozen', 60_000)],
      steps: [on(['after', 60_000], at('retrieving'), [calls('observe')])],
    },
    {
      name: 'members step on while objects are made, and what they change is only noted',
      from: to('creating'),
      steps: [steps('creating'), on(stepped(true), at('creating'), [], { isDesiredNew: true })],
    },
    {
      name: 'what was told during a step is one more step, and only one',
      from: [leased, told('members.changed'), told('members.changed')],
      steps: [
        on(stepped(), at('retrieving', 'stepping'), [begins[1]!]),
        on(stepped(), at('retrieving')),
      ],
    },
    {
      name: 'the database is asked less and less often while it takes nothing',
      from: [leased, ['fails', 'stepMembers', lost]],
      steps: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].flatMap((ms): ChartRule[] => [
        on(['after', ms], at('retrieving', 'stepping'), [begins[1]!]),
        on(['fails', 'stepMembers', lost], at('retrieving', 'backingOff'), [
          does('reportStepFailure', { error: lost }),
        ]),
      ]),
    },
    {
      name: 'so is the job',
      from: [['fails', 'takeLease', lost]],
      steps: [1_000, 2_000, 4_000].flatMap((ms): ChartRule[] => [
        on(['after', ms], 'awaitingLease', [calls('takeLease')]),
        on(['fails', 'takeLease', lost], 'barred', [does('reportStepFailure', { error: lost })]),
      ]),
    },
    {
      name: 'what a pool was paused in is not gone on with: all is looked at anew',
      from: [...to('creating'), told('pool.pause')],
      steps: [on(told('pool.resume'), at('retrieving', 'stepping'), begins)],
    },
  ],
});

function pausedRules(): ChartRule[] {
  return [
    on(told('pool.resume'), at('retrieving', 'stepping'), begins),
    ...ignores('paused', 'members.changed', 'desired.changed', 'pool.pause'),
    on(told('pool.stop'), 'stopped'),
  ];
}
