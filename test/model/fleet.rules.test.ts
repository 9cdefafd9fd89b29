import { Unreachable } from '../../src/domain/errors.ts';
import { fleet } from '../../src/machines/fleet.ts';
import { tableTests, type Act, type Done, type Rule, type Story } from '../support/chart-table.ts';

/**
 * The supervisor: news reach the cells whether or not a session is alive, only work needs one; a crash
 * of a service rebuilds all, one of the guard only the guard; and a stop is never undone.
 */
const TIMING = { sessionIntervalMs: 10_000, sessionRetryMs: 1_000, assessMs: 5_000 };
const lost = new Unreachable('no database');
const bug = new Error('bug');
const expiry = { failure: { code: 'session-expired', message: 'the row is gone' } };
const unreachable = { failure: { code: 'unreachable', message: 'no database' } };

const stop: Act = ['told', { type: 'fleet.stop' }];
const news = { type: 'slots.changed', news: [] };
const nudge = { type: 'guard.nudged' };
const crash = { type: 'service.crashed', error: bug };
const EVENTS = ['fleet.stop', 'slots.changed', 'guard.nudged', 'service.crashed'];

const calls = (service: string, input?: unknown): Done => ['calls', service, input];
const stops = (...services: readonly string[]): Done[] => services.map((each) => ['stops', each]);
const does = (action: string, params?: unknown): Done => ['does', action, params];

/** The cells first: news of the mirror need somebody to go to. */
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

const opens: Act = ['shows', 'session', { value: 'opening' }];
const lives: Act = ['shows', 'session', { value: { alive: 'resting' }, tags: ['alive'] }];
const pokes: Act = ['shows', 'session', { value: { alive: 'poking' }, tags: ['alive'] }];
const expires: Act = ['ends', 'session', expiry];
const guardFails: Act = ['fails', 'guard', bug];
const drains: Act = ['ends', 'drain'];

const ignores = (state: string, ...acts: readonly Act[]): Rule[] =>
  acts.map((when) => ({ when, to: state }));
const passesOn = (state: string): Rule => ({
  when: ['told', news],
  to: state,
  effects: [['tells', 'cellPool', news]],
});
/** Whatever breaks, all that runs is stopped, the crash is reported, and this state follows. */
const breaks = (running: readonly string[], to: string, then: readonly Done[] = []): Rule[] => {
  const forgets = running.includes('guard') ? [does('forgetGuard')] : [];
  const report = does('reportServiceCrash', { error: bug });
  const services = running.filter((each) => [...LASTING, ...WORK].includes(each));
  return [
    { when: ['told', crash], to, effects: [...stops(...running), ...forgets, report, ...then] },
    ...services.map((each): Rule => ({
      when: ['fails', each, bug],
      to,
      effects: [
        ...stops(...running.filter((other) => other !== each)),
        ...forgets,
        report,
        ...then,
      ],
    })),
  ];
};
/** The session is over, in either way: what needs it is stopped, the rest goes on. */
const isLost = (running: readonly string[], to: string, then: readonly Done[] = []): Rule[] => {
  const forgets = running.includes('guard') ? [does('forgetGuard')] : [];
  const over = (loss: typeof expiry): Done[] => [
    ...stops(...running),
    ...forgets,
    does('reportSessionLoss', loss),
    ...then,
  ];
  return [
    { when: expires, to, effects: over(expiry), knows: expiry },
    { when: ['fails', 'session', lost], to, effects: over(unreachable), knows: unreachable },
  ];
};

/** A session that could not be opened, and the wait before the next. */
const notOpened = (ms: number): Rule[] => [
  {
    when: ['fails', 'session', lost],
    to: FENCED,
    effects: [does('reportSessionLoss', unreachable)],
  },
  { when: ['after', ms], to: OPENING, effects: [begins[2]!] },
];
const crashes = (ms: number): Rule[] => [
  breaks([...LASTING, 'session'], 'restarting')[0]!,
  { when: ['after', ms], to: OPENING, effects: begins },
];
const guardCrashes = (ms: number): Rule[] => [
  { when: guardFails, to: UNGUARDED, effects: [does('forgetGuard'), guardReport] },
  { when: ['after', ms], to: GUARDED, effects: [guarded] },
];
const guardReport = does('reportGuardCrash', { error: bug });
const toWork: Rule = { when: lives, to: GUARDED, effects: works, knows: { failure: null } };
/** A service breaks, whichever it is, in the middle of work. */
const breaksAtWork = (service: string, ms: number): Rule[] => [
  toWork,
  breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting').find(
    ({ when: [, what] }) => what === service,
  )!,
  { when: ['after', ms], to: OPENING, effects: begins },
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
      { when: expires, to: FENCED, effects: isLost([...WORK, 'guard'], FENCED)[0]!.effects! },
      { when: ['after', 1_000], to: OPENING, effects: [begins[2]!] },
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
      { when: ['after', 60_000], to: GUARDED, knows: { crashes: 0 } },
      breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting')[0]!,
      { when: ['after', 1_000], to: OPENING, effects: begins },
    ],
  },
  {
    name: 'crashes of the guard in a row are further apart, until it lasts for a minute',
    from: [lives],
    steps: [
      ...[1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].flatMap(guardCrashes),
      { when: ['after', 60_000], to: GUARDED, knows: { guardCrashes: 0 } },
      ...guardCrashes(1_000),
    ],
  },
  {
    name: 'crashes of the guard and of services are counted apart',
    from: [lives],
    steps: [
      ...[1_000, 2_000].flatMap(guardCrashes),
      breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting')[0]!,
      { when: ['after', 1_000], to: OPENING, effects: begins },
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
      { when: stop, to: 'closing', effects: [...stops('session', ...LASTING), closes] },
    ],
    [GUARDED]: [
      ...ignores(GUARDED, lives, pokes),
      { when: ['told', nudge], to: GUARDED, effects: [['tells', 'guard', nudge]] },
      passesOn(GUARDED),
      ...isLost([...WORK, 'guard'], FENCED),
      ...breaks([...LASTING, 'session', ...WORK, 'guard'], 'restarting'),
      { when: guardFails, to: UNGUARDED, effects: [does('forgetGuard'), guardReport] },
      { when: ['ends', 'guard'], to: UNGUARDED, effects: [does('forgetGuard')] },
      {
        when: stop,
        to: DRAINING,
        effects: [...stops(...WORK, 'guard'), does('forgetGuard'), calls('drain')],
      },
    ],
    [UNGUARDED]: [
      ...ignores(UNGUARDED, pokes, ['told', nudge]),
      { when: ['after', 1_000], to: GUARDED, effects: [guarded] },
      passesOn(UNGUARDED),
      ...isLost(WORK, FENCED),
      ...breaks([...LASTING, 'session', ...WORK], 'restarting'),
      { when: stop, to: DRAINING, effects: [...stops(...WORK), calls('drain')] },
    ],
    [DRAINING]: [
      ...ignores(DRAINING, lives, pokes, stop, ['told', nudge]),
      passesOn(DRAINING),
      ...[drains, ['fails', 'drain', bug] as const].map((when) => ({
        when,
        to: 'closing',
        effects: [...stops('session', ...LASTING), closes],
      })),
      ...isLost(['drain', ...LASTING], 'closing', [closes]),
      ...breaks([...LASTING, 'session', 'drain'], 'closing', [closes]),
    ],
    [FENCED]: [
      ...ignores(FENCED, ['told', nudge]),
      passesOn(FENCED),
      ...breaks(LASTING, 'restarting'),
      { when: stop, to: 'closing', effects: [...stops(...LASTING), closes] },
      { when: ['after', 1_000], to: OPENING, effects: [begins[2]!] },
    ],
    restarting: [
      ...ignores('restarting', ['told', nudge], ['told', news], ['told', crash]),
      { when: stop, to: 'closing', effects: [closes] },
      { when: ['after', 1_000], to: OPENING, effects: begins },
    ],
    'closing#before a session': closingRules(),
    'closing#after work': closingRules(),
  },
  stories,
});

function closingRules(): readonly Rule[] {
  return [
    ...ignores('closing', stop, ['told', nudge], ['told', news], ['told', crash]),
    { when: ['ends', 'closeSession'], to: 'stopped' },
    { when: ['fails', 'closeSession', bug], to: 'stopped' },
  ];
}
