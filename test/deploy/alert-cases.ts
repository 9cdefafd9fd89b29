type Labels = Readonly<Record<string, string>>;
type Summaries = readonly (readonly [summary: string, labels?: Labels])[];

/** What a rule must say of samples that come once a minute, or once an hour. */
export interface AlertCase {
  readonly what: 'fires' | 'just below' | 'two daemons' | 'nothing is scraped' | 'not of this kind';
  readonly series: Labels;
  /** Samples after the first one. */
  readonly at: number;
  readonly step?: '1h';
  /** Of the alerts that must be there, none when absent; without severity and the name. */
  readonly says?: Summaries;
  readonly severity?: 'critical' | 'warning' | 'info';
}

const DAY = 86_400;
const a = 'instance="a"';
const b = 'instance="b"';
const RACK = { provider: 'rack' };
const FLEET = { scope: 'fleet' };

const all = (...parts: readonly Labels[]): Labels => Object.assign({}, ...parts) as Labels;
const c = (
  what: AlertCase['what'],
  at: number,
  series: Labels,
  says: Summaries = [],
  severity?: AlertCase['severity'],
): AlertCase => ({ what, at, series, says, ...(severity && { severity }) });

const up = (instance: string, values: string): Labels => ({
  [`up{job="shepherd",${instance}}`]: values,
});
const session = (instance: string, values: string): Labels => ({
  [`shepherd_ready{check="session",${instance}}`]: values,
});
const ready = (check: string, instance: string, values: string): Labels => ({
  [`shepherd_ready{check="${check}",${instance}}`]: values,
});
/** What a daemon with these roles, and no other, says of its session. */
const having =
  (...roles: readonly string[]) =>
  (instance: string, values: string): Labels => {
    const told = ['loops', 'agent-server', 'console'].map((role) => ({
      [`shepherd_role{role="${role}",${instance}}`]: `${Number(roles.includes(role))}x10`,
    }));
    return all(session(instance, values), ...told);
  };
const whole = having('loops', 'agent-server', 'console');
const [works, hears, shows] = [having('loops'), having('agent-server'), having('console')] as const;
/** A series with these labels, of one daemon. */
const of =
  (name: string, labels: string) =>
  (instance: string, values: string): Labels => ({
    [`${name}{${[labels, instance].filter(Boolean).join(',')}}`]: values,
  });
/** The three cases that every alert has. What fires of one daemon fires of two, unless `two` says otherwise. */
const three = (
  at: number,
  make: (instance: string, values: never) => Labels,
  [fires, below, one, other]: readonly unknown[],
  says: Summaries,
  two: Summaries = says,
): readonly AlertCase[] => {
  const made = (instance: string, values: unknown) => make(instance, values as never);
  return [
    c('fires', at, made(a, fires), says),
    c('just below', at, made(a, below)),
    c('two daemons', at, all(made(a, one), made(b, other)), two),
  ];
};
const blind = of('shepherd_guard_state', 'state="blind",scope="fleet"');
const lost = (instance: string, [silent, started]: readonly [number, number]): Labels => ({
  [`shepherd_guard_silent_machines{scope="fleet",${instance}}`]: `${silent}x20`,
  [`shepherd_guard_started_machines{scope="fleet",${instance}}`]: `${started}x20`,
});
const budget = (instance: string, permits: number | readonly number[], silent: number): Labels => ({
  [`shepherd_guard_permits{scope="fleet",${instance}}`]:
    typeof permits === 'number' ? `${permits}x40` : permits.join(' '),
  [`shepherd_guard_budget{scope="fleet",${instance}}`]: '5x40',
  [`shepherd_guard_silent_machines{scope="fleet",${instance}}`]: `${silent}x40`,
  // Of a location nobody counts the silent.
  [`shepherd_guard_permits{scope="location am6",${instance}}`]: '5x40',
  [`shepherd_guard_budget{scope="location am6",${instance}}`]: '5x40',
});
const beats = (instance: string, [ok, refused]: readonly [number, number]): Labels => ({
  [`shepherd_heartbeats_total{outcome="ok",${instance}}`]: `0+${ok}x30`,
  [`shepherd_heartbeats_total{outcome="invalid",${instance}}`]: `0+${refused}x30`,
});
const reinstalls = (instance: string, [asked, machines]: readonly [number, number]): Labels => ({
  [`shepherd_reinstalls_total{provider="rack",outcome="asked",${instance}}`]: `0x30 ${asked}x40`,
  [`shepherd_reinstalls_total{provider="rack",outcome="proved",${instance}}`]: '0x30 90x40',
  [`shepherd_machines{provider="rack",state="Running",substate="healthy",${instance}}`]: `${machines - 9}x70`,
  [`shepherd_machines{provider="rack",state="Running",substate="silent",${instance}}`]: '9x70',
});
const crashes = (instance: string, [actors, services]: readonly [number, number]): Labels => ({
  [`shepherd_actor_crashes_total{${instance}}`]: `0x5 ${actors}x20`,
  [`shepherd_service_crashes_total{service="guard",${instance}}`]: `0x5 ${services}x20`,
});
const lag = of('nodejs_eventloop_lag_p99_seconds', 'job="shepherd"');
const loop = of('shepherd_loop_last_success_timestamp_seconds', 'loop="guard"');
const certificate = (instance: string, notAfter: number): Labels => ({
  [`tls_certificate_not_after_seconds{name="console",${instance}}`]: `${notAfter}x5`,
});
const build = (instance: string, version: string, values: string): Labels => ({
  [`shepherd_build_info{version="${version}",${instance}}`]: values,
});
const dead = (outcome: string) =>
  of('shepherd_webhook_deliveries_total', `webhook="pager",outcome="${outcome}"`);
/** A counter of a provider that goes up within the hour. */
const counted = (name: string, what: string): readonly AlertCase[] =>
  three(
    60,
    of(name, 'provider="rack"'),
    ['0x30 1x40', '7x70', '0x30 1x40', '0x30 2x40'],
    [[`1 ${what}`, RACK]],
    [[`3 ${what}`, RACK]],
  );
/** A gauge of the fleet that must not be above 0 for so many minutes. */
const standing = (
  [name, labels]: readonly [string, string],
  minutes: number,
  says: Summaries,
  value = 1,
): readonly AlertCase[] => {
  const lasts = `${value}x${minutes + 5}`;
  const below = `${value}x${minutes - 1} 0x9`;
  return three(minutes + 1, of(name, labels), [lasts, below, lasts, lasts], says);
};

const nobodyIs = (role: string, so: string): Summaries[number] => [
  `No daemon with the role ${role} has a live session, so ${so}.`,
  { role },
];
const NO_LOOPS = nobodyIs('loops', 'nothing is done to any machine');
const NO_AGENTS = nobodyIs('agent-server', 'no agent is heard');
const NEITHER = [NO_LOOPS, NO_AGENTS];
const BLIND = 'No daemon judges the fleet: nothing is recovered in fleet.';
const SPENT =
  '5 machines of fleet are being recovered, which is all that may be, and more are lost.';
const REINSTALLED = '2 machines of rack were reinstalled within an hour.';
const SKEW = 'Daemons of 2 versions work beside each other.';
const STALLED = 'The loop guard has not succeeded in any daemon for 11m 0s.';
const lostWork = (count: number) =>
  `${count} pieces of work of ShepherdRecovery were lost with their session.`;
const givenUp = (count: number) =>
  `${count} events were given up that the webhook pager should have had.`;
const waiting = (time: string) =>
  `No event has been told for ${time}, though there are some: a transaction stays open.`;
const ends = (instance: string, left: string): Summaries[number] => [
  `The certificate of the console of ${instance} ends in ${left}.`,
  { instance, name: 'console' },
];

/** By alert. Thresholds and times are those that were specified before the rules were written. */
export const ALERT_CASES: Readonly<Record<string, readonly AlertCase[]>> = {
  ShepherdDown: [
    c('fires', 6, up(a, '0x10'), [
      ['Daemon a does not answer.', { instance: 'a', job: 'shepherd' }],
    ]),
    c('just below', 6, up(a, '0x4 1x10')),
    c('two daemons', 6, all(up(a, '1x10'), up(b, '0x10')), [
      ['Daemon b does not answer.', { instance: 'b', job: 'shepherd' }],
    ]),
    c('nothing is scraped', 6, { 'up{job="other"}': '1x10' }, [
      ['No daemon is scraped.', { job: 'shepherd' }],
    ]),
  ],
  ShepherdNotReady: [
    c('fires', 6, all(session(a, '1x10'), ready('database', a, '0x10')), [
      ['Daemon a is not ready: no session, or no database.', { instance: 'a' }],
    ]),
    c('just below', 6, all(session(a, '1x10'), ready('database', a, '0x4 1x10'))),
    c('two daemons', 6, all(session(a, '1x10'), session(b, '0x10')), [
      ['Daemon b is not ready: no session, or no database.', { instance: 'b' }],
    ]),
    c('not of this kind', 6, all(session(a, '1x10'), ready('provider rack', a, '0x10'))),
  ],
  ShepherdNoLiveSession: [
    c('fires', 3, whole(a, '0x10'), NEITHER),
    c('just below', 3, whole(a, '0x1 1x10')),
    c('two daemons', 3, all(whole(a, '0x10'), whole(b, '1x10'))),
    // One that only shows does nothing in place of another, whether that has no session or is gone.
    c('two daemons', 3, all(whole(a, '0x10'), shows(b, '1x10')), NEITHER),
    c('two daemons', 3, shows(b, '1x10'), NEITHER),
    c('two daemons', 3, all(hears(a, '1x10'), works(b, '1x10'))),
    c('two daemons', 3, all(hears(a, '1x10'), works(b, '0x10')), [NO_LOOPS]),
    c('two daemons', 3, all(hears(a, '0x10'), works(b, '1x10')), [NO_AGENTS]),
    c('nothing is scraped', 3, { up: '0x10' }, [NO_LOOPS]),
    // An older daemon does not say which roles it has.
    c('just below', 3, session(a, '1x10')),
    c('two daemons', 3, all(session(a, '1x10'), shows(b, '1x10'))),
    c('two daemons', 3, all(session(a, '0x10'), shows(b, '1x10')), NEITHER),
    // Of two fleets at the same address, each with its label.
    c(
      'two daemons',
      3,
      all(whole(`fleet="1",${a}`, '0x10'), whole(`fleet="2",${a}`, '0x10')),
      NEITHER,
    ),
  ],
  ShepherdGuardFrozen: standing(['shepherd_guard_frozen', 'scope="provider rack"'], 5, [
    ['Recovery is frozen: provider rack.', { scope: 'provider rack' }],
  ]),
  ShepherdGuardBlind: [
    c('fires', 6, blind(a, '1x10'), [[BLIND, FLEET]]),
    c('just below', 6, blind(a, '1x4 0x10')),
    c('two daemons', 6, all(blind(a, '1x10'), blind(b, '1x10')), [[BLIND, FLEET]]),
    c('two daemons', 6, all(blind(a, '1x10'), blind(b, '0x10'))),
  ],
  ShepherdMachinesLost: [
    ...three(
      11,
      lost,
      [
        [3, 100],
        [2, 100],
        [3, 100],
        [3, 100],
      ],
      [['3% of the machines of fleet are lost.', FLEET]],
    ),
    // One that has just begun knows of none yet.
    c('two daemons', 11, all(lost(a, [2, 100]), lost(b, [0, 0]))),
  ],
  ShepherdNeedHuman: standing(
    ['shepherd_machines_need_human', 'provider="rack"'],
    15,
    [['2 of the machines of rack need a human.', RACK]],
    2,
  ),
  ShepherdBudgetSpent: [
    c('fires', 31, budget(a, 5, 9), [[SPENT, FLEET]]),
    // Between one permit and the next there is room for a moment.
    c(
      'fires',
      31,
      budget(
        a,
        Array.from({ length: 41 }, (_, at) => 5 - (at % 2)),
        9,
      ),
      [[SPENT, FLEET]],
    ),
    c('just below', 31, budget(a, 5, 5)),
    c('just below', 31, budget(a, 4, 9)),
    c('two daemons', 31, all(budget(a, 5, 9), budget(b, 5, 9)), [[SPENT, FLEET]]),
    c('two daemons', 31, all(budget(a, 3, 3), budget(b, 3, 3))),
  ],
  ShepherdMachinesOverdue: standing(
    ['shepherd_machines_overdue', 'provider="rack",state="Recovering"'],
    30,
    [
      [
        '2 machines of rack take far too long in Recovering.',
        { provider: 'rack', state: 'Recovering' },
      ],
    ],
    2,
  ),
  ShepherdListingOld: three(
    1,
    of('shepherd_listing_age_seconds', 'provider="rack"'),
    ['901x5', '900x5', '30x5', '1000x5'],
    [['A daemon has not listed rack for 15m 1s.', RACK]],
    [['A daemon has not listed rack for 16m 40s.', RACK]],
  ),
  ShepherdCircuitOpen: standing(['shepherd_provider_circuit_open', 'provider="rack"'], 10, [
    ['The listing of rack is not believed, and nothing is created there.', RACK],
  ]),
  ShepherdOrphans: [
    ...standing(
      ['shepherd_provider_discrepancies', 'provider="rack",kind="orphan"'],
      60,
      [['2 devices of rack belong to no machine.', RACK]],
      2,
    ),
    c('not of this kind', 61, {
      [`shepherd_provider_discrepancies{provider="rack",kind="missing",${a}}`]: '5x70',
    }),
  ],
  ShepherdCreationUnsettled: three(
    1,
    of('shepherd_provision_intent_oldest_seconds', 'provider="rack"'),
    ['3601x5', '3600x5', '3601x5', '3601x5'],
    [['A creation at rack was begun 1h 0m 1s ago and is not settled.', RACK]],
  ),
  ShepherdDeprovisionStuck: counted(
    'shepherd_deprovisions_stuck_total',
    'machines of rack do not go away however often it is asked.',
  ),
  ShepherdReinstallsMany: three(
    60,
    reinstalls,
    [
      [2, 199],
      [2, 200],
      [1, 199],
      [1, 199],
    ],
    [[REINSTALLED, RACK]],
  ),
  ShepherdHostKeyChanged: three(
    15,
    of('shepherd_ssh_hostkey_changes_total', 'provider="rack"'),
    ['0x5 1x20', '3x20', '0x5 1x20', '0x5 1x20'],
    [['1 times a machine of rack showed another host key than is known.', RACK]],
    [['2 times a machine of rack showed another host key than is known.', RACK]],
  ),
  ShepherdInsecureSsh: counted(
    'shepherd_ssh_insecure_connections_total',
    'connections to machines of rack were made to hosts that nobody verified.',
  ),
  ShepherdHeartbeatsRefused: three(
    16,
    beats,
    [
      [98, 2],
      [99, 1],
      [100, 0],
      [94, 6],
    ],
    [['2% of the calls of agents are refused.']],
    [['3% of the calls of agents are refused.']],
  ),
  ShepherdDatabaseFailing: three(
    11,
    of('bmdb_transaction_failed', 'processor="bmsrv"'),
    ['0+120x30', '0+60x30', '0+45x30', '0+45x30'],
    [['2 transactions fail each second.']],
    [['1.5 transactions fail each second.']],
  ),
  ShepherdWorkLost: three(
    15,
    of('shepherd_work_lost_total', 'process="ShepherdRecovery"'),
    ['0x5 3x20', '3x20', '0x5 3x20', '0x5 1x20'],
    [[lostWork(3), { process: 'ShepherdRecovery' }]],
    [[lostWork(4), { process: 'ShepherdRecovery' }]],
  ),
  ShepherdActorsCrashing: three(
    15,
    crashes,
    [
      [1, 0],
      [0, 0],
      [1, 0],
      [0, 1],
    ],
    [['1 actors or services crashed and were begun anew.']],
    [['2 actors or services crashed and were begun anew.']],
  ),
  ShepherdEventLoopSlow: three(
    6,
    lag,
    ['0.6x10', '0.5x10', '0.1x10', '0.6x10'],
    [['Daemon a is late by 600ms in whatever it does.', { instance: 'a' }]],
    [['Daemon b is late by 600ms in whatever it does.', { instance: 'b' }]],
  ),
  ShepherdCertificateExpiring: [
    c('fires', 1, certificate(a, 14 * DAY), [ends('a', '13d 23h 59m 0s')], 'warning'),
    c('fires', 1, certificate(a, 2 * DAY), [ends('a', '1d 23h 59m 0s')], 'critical'),
    c('fires', 1, certificate(a, 2 * DAY + 60), [ends('a', '2d 0h 0m 0s')], 'warning'),
    c('just below', 1, certificate(a, 14 * DAY + 60)),
    c('two daemons', 1, all(certificate(a, 90 * DAY), certificate(b, 14 * DAY)), [
      ends('b', '13d 23h 59m 0s'),
    ]),
  ],
  ShepherdWebhookDeadLetters: [
    ...three(
      60,
      dead('dead'),
      ['0x30 1x40', '0x30 0x40', '0x30 1x40', '0x30 2x40'],
      [[givenUp(1), { webhook: 'pager' }]],
      [[givenUp(3), { webhook: 'pager' }]],
    ),
    // What goes wrong and is tried again is no dead letter.
    c('just below', 60, dead('failed')(a, '0+3x70')),
  ],
  ShepherdEventsWaiting: three(
    1,
    of('shepherd_events_waiting_seconds', ''),
    ['601x5', '600x5', '0x5', '660x5'],
    [[waiting('10m 1s')]],
    [[waiting('11m 0s')]],
  ),
  ShepherdVersionSkew: [
    c('fires', 25, all(build(a, '1', '1x30'), build(b, '2', '1x30')), [[SKEW]]),
    c('just below', 25, all(build(a, '1', '1x30'), build(b, '2', '1x23'))),
    c('two daemons', 25, all(build(a, '1', '1x30'), build(b, '1', '1x30'))),
  ].map((each) => ({ ...each, step: '1h' as const })),
  ShepherdLoopStalled: [
    c('fires', 11, loop(a, '0x20'), [[STALLED, { loop: 'guard' }]]),
    c('just below', 10, loop(a, '0x20')),
    c('two daemons', 11, all(loop(a, '0x20'), loop(b, '0x20')), [[STALLED, { loop: 'guard' }]]),
    // The job is another daemon's by now.
    c('two daemons', 11, all(loop(a, '0x20'), loop(b, '0+60x20'))),
  ],
};
