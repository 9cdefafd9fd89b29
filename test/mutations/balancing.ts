import { mistakesIn, type Mutation } from './mutation.ts';

/** Who gets traffic, and what is changed at a balancer for it. */

const plan = mistakesIn(
  'src/domain/balancing/plan.ts',
  ['test/domain/balancing/plan.test.ts'],
  [
    [
      'balancing-breaks-before-it-makes',
      "    ['creating', create.length > 0, create],\n    ['waiting', unready.length > 0, []],\n    ['leaving', sorted.leavers.length > 0, childrenFirst(sorted.leavers)],\n",
      "    ['leaving', sorted.leavers.length > 0, childrenFirst(sorted.leavers)],\n    ['creating', create.length > 0, create],\n    ['waiting', unready.length > 0, []],\n",
    ],
    [
      'balancing-makes-children-of-parents-that-are-not-ready',
      "const isReady = over?.phase === 'ready' && ",
      'const isReady = over !== null && ',
    ],
    [
      'balancing-drops-whatever-nobody-let-go',
      'const dropping = mayDropAll ? [] : suspicious(input, sorted);',
      'const dropping = mayDropAll ? [] : suspicious(input, { drops: [] });',
    ],
    [
      'balancing-keeps-the-twin-with-the-higher-id',
      'return ranks === 0 ? one.ref.id < other.ref.id',
      'return ranks === 0 ? one.ref.id > other.ref.id',
    ],
  ],
);

const members = mistakesIn(
  'src/domain/balancing/member-steps.ts',
  ['test/domain/balancing/member-steps.test.ts'],
  [
    [
      'balancing-has-no-panic-guard',
      'return isTooMany(going.length, active) ? going.toSorted() : [];',
      'return isTooMany(0, active) ? going.toSorted() : [];',
    ],
    [
      'balancing-lets-go-while-new-connections-come',
      'if (isAway && seen.sessions === 0)',
      'if (seen.sessions === 0)',
    ],
    [
      'balancing-believes-old-looks',
      '    if (sights === null) {\n      needsLook = true;\n      return;\n    }\n    const how',
      "    if (sights === null) return drained(row, 'gone', reason);\n    const how",
    ],
    [
      'balancing-serves-before-it-is-warm',
      "const isWell = seen?.isWhole === true && (!capabilities.health || seen.health === 'up');",
      'const isWell = seen?.isWhole === true;',
    ],
  ],
);

const unknown = mistakesIn(
  'src/domain/balancing/member-steps.ts',
  ['test/actors/balancing/unknown-health.test.ts'],
  [
    [
      'balancing-takes-unknown-for-down',
      "input.sights?.get(machineId)?.health !== 'down';",
      "input.sights?.get(machineId)?.health === 'up';",
    ],
  ],
);

const turns = mistakesIn(
  'src/domain/balancing/drain-turns.ts',
  ['test/domain/balancing/member-steps.test.ts'],
  [
    ['balancing-ignores-the-least-number', 'left < minActive && !force', 'left < 0 && !force'],
    ['balancing-interrupts-all-at-once', 'interrupted >= drain.atOnce', 'interrupted > 1_000'],
    [
      'balancing-breaks-before-members-come',
      'reason === DESELECTED && muster.isFilling',
      'reason === DESELECTED && muster.serving < 0',
    ],
  ],
);

const wishes = mistakesIn(
  'src/domain/balancing/wish.ts',
  ['test/domain/balancing/wish.test.ts'],
  [
    [
      'balancing-drops-the-silent-while-the-guard-doubts',
      "({ state }) => state === 'frozen' || state === 'grace' || state === 'blind',",
      "({ state }) => state === 'blind',",
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
      'wishes-are-told-each-by-itself',
      '    if (timers.has(pool) || !callbacks',
      '    if (!callbacks',
    ],
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
  ...chart,
  ...plan,
  ...members,
  ...unknown,
  ...turns,
  ...wishes,
  ...desk,
  ...looks,
  ...services,
];
