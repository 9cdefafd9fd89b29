import { mistakesIn, type Mutation } from './mutation.ts';

/** Who gets traffic, and what is changed at a balancer for it. */

const plan = mistakesIn(
  'src/domain/balancing/plan.ts',
  ['test/domain/balancing/plan.test.ts'],
  [
    [
      'balancing-breaks-before-it-makes',
      "    ['creating', makes.length > 0, makes],\n    ['waiting', unready.length > 0, []],\n    ['leaving', leavers.length > 0, childrenFirst(leavers)],\n",
      "    ['leaving', leavers.length > 0, childrenFirst(leavers)],\n    ['creating', makes.length > 0, makes],\n    ['waiting', unready.length > 0, []],\n",
    ],
    [
      'balancing-waits-for-what-is-refused',
      'const makes = create.filter(isWelcome);',
      'const makes = create;',
    ],
    [
      'balancing-takes-away-what-has-no-successor-yet',
      '    leavers: withoutStandIns(leavers, matches, places),\n',
      '    leavers,\n',
    ],
    [
      'balancing-drops-whatever-nobody-let-go',
      'const dropping = mayDropAll ? [] : suspicious(input, sorted);',
      'const dropping = mayDropAll ? [] : suspicious(input, { drops: [] });',
    ],
  ],
);

const matches = mistakesIn(
  'src/domain/balancing/matches.ts',
  ['test/domain/balancing/plan.test.ts'],
  [
    [
      'balancing-makes-children-of-parents-that-are-not-ready',
      "const isReady = over?.phase === 'ready' && ",
      'const isReady = over !== null && ',
    ],
    [
      'balancing-keeps-the-twin-with-the-higher-id',
      'return ranks === 0 ? one.ref.id < other.ref.id',
      'return ranks === 0 ? one.ref.id > other.ref.id',
    ],
  ],
);

const refusals = mistakesIn(
  'src/actors/balancing/objects.ts',
  ['test/actors/balancing/refusals.test.ts'],
  [
    [
      'balancing-settles-though-changes-are-refused',
      "  if (plan.stage === 'settled' && plan.refused.length > 0) {",
      "  if (plan.stage === 'settled' && plan.refused.length > 99) {",
    ],
    [
      'balancing-forgets-what-was-refused',
      '  desk.refusals.set(key, refusedAgain(before, why, nowMs()));\n',
      '',
    ],
  ],
);

const desk = mistakesIn(
  'src/actors/balancing/desk.ts',
  ['test/actors/balancing/old-looks.test.ts'],
  [
    [
      'balancing-calls-a-look-new-that-is-not',
      'seen?.change === change && changing === 0 ? seen : null',
      'seen',
    ],
  ],
);

const sessions = [
  ...mistakesIn(
    'src/actors/balancing/balancers.ts',
    ['test/actors/balancing/sessions.test.ts', 'test/actors/balancing/crash.test.ts'],
    [
      ['balancing-makes-pools-anew-after-the-end', '        if (!isOver) timer', '        timer'],
      [
        'balancing-makes-crashed-pools-anew-again-and-again',
        'RESPAWN_FIRST_MS * 2 ** Math.min(crashes - 1, 20)',
        'RESPAWN_FIRST_MS',
      ],
      ['balancing-lets-crashed-actors-go-on', '      stopping.abort();\n', ''],
      [
        'balancing-gives-back-what-the-next-session-took',
        'deps.leases.releaseAll(session)',
        'deps.leases.releaseAll()',
      ],
    ],
  ),
  ...mistakesIn(
    'src/actors/balancing/desk.ts',
    ['test/actors/balancing/sessions.test.ts'],
    [
      ['balancing-writes-on-after-its-session', 'stopping.aborted || isOver()', 'isOver()'],
      ['balancing-acts-on-after-a-long-stop', 'stopping.aborted || isOver()', 'stopping.aborted'],
    ],
  ),
];
const remembered = ['test/actors/balancing/looks.test.ts'];
const looks = [
  ...mistakesIn('src/actors/balancing/desk.ts', remembered, [
    [
      'balancing-resyncs-from-memory',
      'fullAtMs !== null && begunAtMs - fullAtMs < RECALL_MS',
      'fullAtMs !== null',
    ],
    [
      'balancing-recalls-after-a-look-that-failed',
      '        fullAtMs = null;\n        const code',
      '        const code',
    ],
  ]),
  ...mistakesIn('src/actors/balancing/objects.ts', remembered, [
    [
      'balancing-destroys-by-what-it-remembers',
      '!seen.isFull && NEEDS_FULL_LOOK.has(plan.stage)',
      'NEEDS_FULL_LOOK.size === 0',
    ],
  ]),
  ...mistakesIn('src/actors/balancing/balancers.ts', remembered, [
    ['balancing-recalls-after-a-pause', '      desk.distrust();\n', ''],
  ]),
];

const services = mistakesIn(
  'src/actors/balancing/services.ts',
  ['test/actors/balancing/vectors.test.ts'],
  [
    [
      'balancing-begins-before-the-fleet-is-known',
      '  while (!isKnown()) await sleep(clock, KNOWN_MS, ends);\n',
      '  if (!isKnown()) await sleep(clock, KNOWN_MS, ends);\n',
    ],
  ],
);

/** What a daemon that was killed left. */
const heirs = mistakesIn(
  'src/actors/balancing/services.ts',
  ['test/actors/balancing/killed.test.ts'],
  [['balancing-heirs-read-no-rows', 'desk.rows.set(row.machineId, row);', 'desk.rows.size;']],
);

const marks = mistakesIn(
  'src/actors/balancing/services.ts',
  ['test/actors/balancing/renamed.test.ts'],
  [
    [
      'balancing-takes-over-under-another-mark',
      '  await requireSameMark(deps, desk, lease);\n',
      '',
    ],
  ],
);

const book = mistakesIn(
  'src/actors/balancing/wishes.ts',
  ['test/actors/balancing/wishes.test.ts'],
  [
    [
      'wishes-keep-those-of-the-tenant-before',
      '    if (tenants.get(slot) !== machineId) leave(slot);\n',
      '',
    ],
    [
      'wishes-outlive-slots-that-no-read-has',
      '      for (const slot of [...tenants.keys()]) if (!all.has(slot)) leave(slot);\n',
      '',
    ],
    [
      'wishes-forget-who-hangs-on-the-guard',
      '    if (restsOnGuard(view)) unsure.add(slot);\n    else unsure.delete(slot);\n',
      '',
    ],
    ['wishes-are-told-though-they-are-the-same', '    if (sameData(before, wish)) return;\n', ''],
    [
      'wishes-stay-what-they-were-when-only-time-goes-by',
      '    dueTimes.set(slot, isWished ? wishDueAtMs(known, now) : null);\n',
      '',
    ],
    [
      'wishes-wake-somebody-for-machines-of-no-pool',
      'isWished ? wishDueAtMs(known, now) : null',
      'wishDueAtMs(known, now)',
    ],
    [
      'wishes-are-told-each-by-itself',
      '    if (timers.has(pool) || !callbacks',
      '    if (!callbacks',
    ],
  ],
);

const due = mistakesIn(
  'src/domain/balancing/wish-due.ts',
  ['test/actors/balancing/wishes.test.ts'],
  [
    ['wishes-outlive-orders', '    row.order?.expiresAtMs,\n', ''],
    ['wishes-outlive-quarantines', '    row.quarantine?.untilMs,\n', ''],
    ['wishes-outlive-holds', '    ...holds.map(({ untilMs }) => untilMs),\n', ''],
    ['wishes-do-not-see-silence', '    lostAtMs(row, loss),\n', ''],
  ],
);

const chart = mistakesIn(
  'src/machines/balancer.ts',
  ['test/model/balancer.rules.test.ts'],
  [
    [
      'balancing-interrupts-what-it-does-when-else-is-desired',
      "  on: { 'desired.changed': { actions: 'noteDesired' } },\n",
      "  on: { 'desired.changed': { target: '.retrieving', actions: 'noteDesired' } },\n",
    ],
    [
      'balancing-tells-to-be-settled-what-nobody-looked-for',
      "          { guard: 'desiredIsNew', target: 'retrieving' },\n",
      '',
    ],
    [
      'balancing-goes-on-without-the-job',
      "          { guard: { type: 'leaseLost', params: errorOf }, target: '#balancer.awaitingLease' },\n          {\n            target: 'backingOff',",
      "          {\n            target: 'backingOff',",
    ],
    [
      'balancing-asks-for-the-job-again-and-again',
      "          actions: [\n            'keepStepFailure',\n            {\n              type: 'reportStepFailure',\n              params: ({ context, event }) => ({ ...place({ context }), error: event.error }),\n            },\n          ],\n        },\n      },\n    },\n    barred",
      "          actions: [\n            {\n              type: 'reportStepFailure',\n              params: ({ context, event }) => ({ ...place({ context }), error: event.error }),\n            },\n          ],\n        },\n      },\n    },\n    barred",
    ],
    [
      'balancing-hurries-though-it-is-to-be-left-alone',
      "{ guard: 'mayHurry', target: 'failed',",
      "{ target: 'failed',",
    ],
    [
      'balancing-ends-a-pause-when-members-change',
      "on: { 'pool.resume': { target: 'tending' } },",
      "on: { 'pool.resume': { target: 'tending' }, 'members.changed': { target: 'tending' } },",
    ],
  ],
);

export const mutations: readonly Mutation[] = [
  ...book,
  ...due,
  ...chart,
  ...plan,
  ...matches,
  ...refusals,
  ...desk,
  ...sessions,
  ...looks,
  ...services,
  ...heirs,
  ...marks,
];
