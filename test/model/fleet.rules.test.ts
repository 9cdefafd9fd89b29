import { Unreachable } from '../../src/domain/errors.ts';
import { fleet } from '../../src/machines/fleet.ts';
import {
  tableTests,
  type ChartAct,
  type ChartOutcome,
  type ChartRule,
  type Story,
  on,
} from '../support/chart-table.ts';

/**
 * The supervisor. News reach the cells with or without a live session; only work needs a session. A
 * crashed service rebuilds everything, a crashed guard only the guard, and a stop is never undone.
 */
const TIMING = { sessionIntervalMs: 10_000, sessionRetryMs: 1_000, assessMs: 5_000 };
const lost = new Unreachable('no database');
const bug = new Error('bug');
const expiry = { failure: { code: 'session-expired', message: 'the row is gone' } };
const unreachable = { failure: { code: 'unreachable', message: 'no database' } };

const stop: ChartAct = ['told', { type: 'fleet.stop' }];
const news = { type: 'slots.changed', news: [] };
const nudge = { type: 'guard.nudged' };
const crash = { type: 'service.crashed', error: bug };
const EVENTS = ['fleet.stop', 'slots.changed', 'guard.nudged', 'service.crashed'];

const calls = (service: string, input?: unknown): ChartOutcome => ['calls', service, input];
const stops = (...services: readonly string[]): ChartOutcome[] =>
  services.map((each) => ['stops', each]);
const does = (action: string, params?: unknown): ChartOutcome => ['does', action, params];

/** The cells come first, because the mirror's news need a receiver. */
const begins = [
  calls('cellPool'),
  calls('mirror'),
  calls('session', { intervalMs: TIMING.sessionIntervalMs }),
];
const guarded = calls('guard', { assessMs: TIMING.assessMs });
const works = [
  calls('provisioners'),
  calls('janitor'),
  calls('updater'),
  calls('balancers'),
  guarded,
];
const closes = calls('closeSession');
const LASTING = ['cellPool', 'mirror'];
const WORK = ['provisioners', 'janitor', 'updater', 'balancers'];

const OPENING = 'active.attended.opening';
const GUARDED = 'active.attended.working.guarded';
const UNGUARDED = 'active.attended.working.unguarded';
const DRAINING = 'active.attended.draining';
const FENCED = 'active.fenced';

const opens: ChartAct = ['shows', 'session', { value: 'opening' }];
const lives: ChartAct = ['shows', 'session', { value: { alive: 'resting' }, tags: ['alive'] }];
const pokes: ChartAct = ['shows', 'session', { value: { alive: 'poking' }, tags: ['alive'] }];
const expires: ChartAct = ['ends', 'session', expiry];
const guardFails: ChartAct = ['fails', 'guard', bug];
const drains: ChartAct = ['ends', 'drain'];

const ignores = (state: string, ...acts: readonly ChartAct[]): ChartRule[] =>
  acts.map((when) => on(when, state));
const passesOn = (state: string): ChartRule =>
  on(['told', news], state, [['tells', 'cellPool', news]]);
/** When a service breaks, all others stop, the crash is reported, and this state follows. */
const breaks = (
  running: readonly string[],
  to: string,
  then: readonly ChartOutcome[] = [],
): ChartRule[] => {
  const forgets = running.includes('guard') ? [does('forgetGuard')] : [];
  const report = does('reportServiceCrash', { error: bug });
  const services = running.filter((each) => [...LASTING, ...WORK].includes(each));
  return [
    on(['told', crash], to, [...stops(...running), ...forgets, report, ...then]),
    ...services.map((each): ChartRule =>
      on(['fails', each, bug], to, [
        ...stops(...running.filter((other) => other !== each)),
        ...forgets,
        report,
        ...then,
      ]),
    ),
  ];
};
/** The session is over, in either way: its dependants are stopped, and the rest goes on. */
const isLost = (
  running: readonly string[],
  to: string,
  then: readonly ChartOutcome[] = [],
): ChartRule[] => {
  const forgets = running.includes('guard') ? [does('forgetGuard')] : [];
  const over = (loss: typeof expiry): ChartOutcome[] => [
    ...stops(...running),
    ...forgets,
    does('reportSessionLoss', loss),
    ...then,
  ];
  return [
    on(expires, to, over(expiry), expiry),
    on(['fails', 'session', lost], to, over(unreachable), unreachable),
  ];
};

/** A session could not be opened, and the wait before the next attempt. */
const notOpened = (ms: number): ChartRule[] => [
  on(['fails', 'session', lost], FENCED, [does('reportSessionLoss', unreachable)]),
  on(['after', ms], OPENING, [begins[2]!]),
];
const crashes = (ms: number): ChartRule[] => [
  breaks([...LASTING, 'session'], 'restarting')[0]!,
  on(['after', ms], OPENING, begins),
];
const guardCrashes = (ms: number): ChartRule[] => [
  on(guardFails, UNGUARDED, [does('forgetGuard'), guardReport]),
  on(['after', ms], GUARDED, [guarded]),
];
const guardReport = does('reportGuardCrash', { error: bug });
const toWork: ChartRule = on(lives, GUARDED, works, { failure: null });
/** Any service breaks in the middle of work. */
const breaksAtWork = (service: string, ms: number): ChartRule[] => [
  toWork,
  breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting').find(
    ({ when: [, what] }) => what === service,
  )!,
  on(['after', ms], OPENING, begins),
];

const stories: readonly Story[] = [
  {
    name: 'sessions that cannot be opened are further apart, half a minute at most',
    steps: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].flatMap(notOpened),
  },
  {
    name: 'a session that lived is followed by another soon',
    steps: [
      ...[1_000, 2_000, 4_000].flatMap(notOpened),
      toWork,
      on(expires, FENCED, isLost([...WORK, 'guard'], FENCED)[0]!.effects),
      on(['after', 1_000], OPENING, [begins[2]!]),
    ],
  },
  {
    name: 'crashes in a row are further apart, half a minute at most',
    steps: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].flatMap(crashes),
  },
  {
    name: 'each crash counts, of whichever service, and less than a minute of work forgets none',
    steps: [...LASTING, ...WORK].flatMap((each, at) =>
      breaksAtWork(each, Math.min(30_000, 1_000 * 2 ** at)),
    ),
  },
  {
    name: 'a minute of work makes earlier crashes forgotten',
    steps: [
      ...[1_000, 2_000, 4_000].flatMap(crashes),
      toWork,
      on(['after', 60_000], GUARDED, [], { crashes: 0 }),
      breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting')[0]!,
      on(['after', 1_000], OPENING, begins),
    ],
  },
  {
    name: 'crashes of the guard in a row are further apart, until it lasts for a minute',
    from: [lives],
    steps: [
      ...[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].flatMap(guardCrashes),
      on(['after', 60_000], GUARDED, [], { guardCrashes: 0 }),
      ...guardCrashes(1_000),
    ],
  },
  {
    name: 'crashes of the guard and of services are counted apart',
    from: [lives],
    steps: [
      ...[1_000, 2_000].flatMap(guardCrashes),
      breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting')[0]!,
      on(['after', 1_000], OPENING, begins),
      toWork,
      ...guardCrashes(4_000),
    ],
  },
];

tableTests({
  chart: fleet,
  input: TIMING,
  services: {
    session: 'chart',
    guard: 'chart',
    mirror: 'service',
    cellPool: 'service',
    provisioners: 'service',
    janitor: 'service',
    updater: 'service',
    balancers: 'service',
    drain: 'promise',
    closeSession: 'promise',
  },
  actions: ['reportSessionLoss', 'reportServiceCrash', 'reportGuardCrash', 'forgetGuard'],
  events: EVENTS,
  start: { to: OPENING, effects: begins },
  ways: {
    [OPENING]: [],
    [GUARDED]: [lives],
    [UNGUARDED]: [lives, guardFails],
    [DRAINING]: [lives, stop],
    [FENCED]: [expires],
    restarting: [['told', crash]],
    'closing#before a session': [stop],
    'closing#after work': [lives, stop, drains],
  },
  rules: {
    [OPENING]: [
      ...ignores(OPENING, opens, ['told', nudge]),
      toWork,
      ...isLost([], FENCED),
      passesOn(OPENING),
      ...breaks([...LASTING, 'session'], 'restarting'),
      on(stop, 'closing', [...stops('session', ...LASTING), closes]),
    ],
    [GUARDED]: [
      ...ignores(GUARDED, lives, pokes),
      on(['told', nudge], GUARDED, [['tells', 'guard', nudge]]),
      passesOn(GUARDED),
      ...isLost([...WORK, 'guard'], FENCED),
      ...breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting'),
      on(guardFails, UNGUARDED, [does('forgetGuard'), guardReport]),
      on(['ends', 'guard'], UNGUARDED, [does('forgetGuard')]),
      on(stop, DRAINING, [...stops(...WORK, 'guard'), does('forgetGuard'), calls('drain')]),
    ],
    [UNGUARDED]: [
      ...ignores(UNGUARDED, pokes, ['told', nudge]),
      on(['after', 1_000], GUARDED, [guarded]),
      passesOn(UNGUARDED),
      ...isLost(WORK, FENCED),
      ...breaks([...LASTING, 'session', ...WORK], 'restarting'),
      on(stop, DRAINING, [...stops(...WORK), calls('drain')]),
    ],
    [DRAINING]: [
      ...ignores(DRAINING, lives, pokes, stop, ['told', nudge]),
      passesOn(DRAINING),
      ...[drains, ['fails', 'drain', bug] as const].map((when) =>
        on(when, 'closing', [...stops('session', ...LASTING), closes]),
      ),
      ...isLost(['drain', ...LASTING], 'closing', [closes]),
      ...breaks([...LASTING, 'session', 'drain'], 'closing', [closes]),
    ],
    [FENCED]: [
      ...ignores(FENCED, ['told', nudge]),
      passesOn(FENCED),
      ...breaks(LASTING, 'restarting'),
      on(stop, 'closing', [...stops(...LASTING), closes]),
      on(['after', 1_000], OPENING, [begins[2]!]),
    ],
    restarting: [
      ...ignores('restarting', ['told', nudge], ['told', news], ['told', crash]),
      on(stop, 'closing', [closes]),
      on(['after', 1_000], OPENING, begins),
    ],
    'closing#before a session': closingRules(),
    'closing#after work': closingRules(),
  },
  stories,
});

function closingRules(): readonly ChartRule[] {
  return [
    ...ignores('closing', stop, ['told', nudge], ['told', news], ['told', crash]),
    on(['ends', 'closeSession'], 'stopped'),
    on(['fails', 'closeSession', bug], 'stopped'),
  ];
}
