import { mistakesIn, type Mutation } from './mutation.ts';

/** What becomes of each member next: who serves, who is let go, and who waits. */

const STEPS = ['test/domain/balancing/member-steps.test.ts'];
const members = [
  ...mistakesIn('src/domain/balancing/member-steps.ts', STEPS, [
    [
      'balancing-has-no-panic-guard',
      'return isTooMany(going.length, active) ? going.toSorted() : [];',
      'return isTooMany(0, active) ? going.toSorted() : [];',
    ],
    ['balancing-fears-what-was-ordered', ' && wish.isOrdered !== true;', ';'],
  ]),
  ...mistakesIn('src/domain/balancing/letting-go.ts', STEPS, [
    [
      'balancing-lets-go-while-new-connections-come',
      'if (isAway && seen.sessions === 0)',
      'if (seen.sessions === 0)',
    ],
    [
      'balancing-believes-old-looks',
      '  if (sights === null) return pass.needLook();\n  const how',
      "  if (sights === null) return drained(pass, row, wish, 'gone');\n  const how",
    ],
  ]),
  ...mistakesIn('src/domain/balancing/serving.ts', STEPS, [
    [
      'balancing-serves-before-it-is-warm',
      "const isWell = seen?.isWhole === true && (!capabilities.health || seen.health === 'up');",
      'const isWell = seen?.isWhole === true;',
    ],
  ]),
];

const OUT_OF_REACH = ['test/domain/balancing/out-of-reach.test.ts'];
const REFUSED = ['test/actors/balancing/refused-drain.test.ts'];
const refusedCalls = [
  ...mistakesIn('src/domain/balancing/letting-go.ts', STEPS, [
    ['balancing-cuts-those-who-came-until-lately', 'isAway ? graceEndMs(pass, row) : 0', '0'],
    [
      'balancing-moves-the-deadline-at-each-pass',
      'const isOver = !isAway && nowMs >= endMs;',
      'const isOver = !isAway;',
    ],
  ]),
  ...mistakesIn('src/domain/balancing/letting-go.ts', REFUSED, [
    [
      'balancing-looks-again-and-again-at-what-is-refused',
      'if (isNative && !memory.refusing.has(machineId))',
      'if (isNative)',
    ],
    [
      'balancing-waits-for-ever-for-what-is-refused',
      'if (refused && answerInstead(',
      'if (refused && !answerInstead(',
    ],
  ]),
  ...mistakesIn('src/domain/balancing/member-steps.ts', OUT_OF_REACH, [
    [
      'balancing-takes-back-its-word-while-it-is-refused',
      "&& row.state !== 'drained' && !isRefused;",
      "&& row.state !== 'drained';",
    ],
  ]),
  ...mistakesIn('src/actors/balancing/step-members.ts', REFUSED, [
    [
      'balancing-repeats-what-is-refused',
      'return !refused || deps.nowMs() >= callAgainMs(refused, mode);',
      'return !refused || deps.nowMs() >= 0;',
    ],
    [
      'balancing-forgets-that-a-call-was-refused',
      'if (!left.has(machineId)) refusing.delete(machineId);',
      'refusing.delete(machineId);',
    ],
  ]),
];

const addresses = [
  ...mistakesIn('src/domain/balancing/pool-wishes.ts', STEPS, [
    [
      'balancing-gives-the-address-of-a-member-to-another',
      'if (holder !== undefined) leaveOut',
      'if (holder === machineId) leaveOut',
    ],
    [
      'balancing-joins-where-somebody-may-still-drain',
      'if (sights === null) return false;',
      'if (sights === null) return true;',
    ],
  ]),
  ...mistakesIn(
    'src/domain/balancing/pool-wishes.ts',
    ['test/actors/balancing/shared-address.test.ts'],
    [
      [
        'balancing-sees-no-address-of-who-drains',
        'const isKnown = addLeaving(pass, all, taken);',
        'const isKnown = addLeaving(pass, all, new Map());',
      ],
    ],
  ),
];

const takenBack = mistakesIn('src/domain/balancing/letting-go.ts', OUT_OF_REACH, [
  ['balancing-takes-back-that-it-was-not-waited-for', '...(row.waived && { waived: true })', ''],
]);
const PACE = ['test/actors/balancing/pace.test.ts'];
const serving = [
  ...mistakesIn(
    'src/domain/balancing/sights.ts',
    ['test/domain/balancing/sights.test.ts'],
    [
      [
        'balancing-takes-unknown-for-down',
        "mode === 'active' && server?.health !== 'down'",
        "mode === 'active' && server?.health === 'up'",
      ],
    ],
  ),
  ...mistakesIn('src/domain/balancing/member-steps.ts', STEPS, [
    ['balancing-counts-who-lost-a-port', 'seen?.open === mostOpen', 'seen?.open !== 0'],
    ['balancing-decides-blindly', 'const isBlind = sights === null;', 'const isBlind = false;'],
  ]),
  ...mistakesIn('src/actors/balancing/step-members.ts', PACE, [
    ['balancing-looks-for-who-is-away', '? deps.nowMs() >= away.againAtMs', '? true'],
  ]),
  ...mistakesIn('src/domain/balancing/serving.ts', PACE, [
    [
      'balancing-looks-for-ever-for-who-joins',
      ' && nowMs < row.sinceMs + pool.warmUpMs + JOIN_MS) pass.lookSoon();',
      ') pass.lookSoon();',
    ],
  ]),
];

const HELD = ['test/actors/balancing/held-elsewhere.test.ts'];
const TURNS = ['test/domain/balancing/drain-turns.test.ts'];
const BACK = ['test/domain/balancing/given-back.test.ts'];
const turns = [
  ...mistakesIn('src/actors/balancing/step-members.ts', HELD, [
    [
      'balancing-knows-nothing-of-other-places',
      'if (row?.machineId === machineId) found.set',
      'if (row === null) found.set',
    ],
    ['balancing-forgets-whom-it-gave-back', '  rememberGivenBack(', '  void ('],
  ]),
  ...mistakesIn('src/domain/balancing/drain-turns.ts', STEPS, [
    ['balancing-ignores-the-least-number', 'left < minActive && !force', 'left < 0 && !force'],
    [
      'balancing-interrupts-all-at-once',
      'interrupted + kept >= drain.atOnce',
      'interrupted + kept > 1_000',
    ],
    [
      'balancing-breaks-before-members-come',
      'reason === DESELECTED && muster.isFilling',
      'reason === DESELECTED && muster.serving < 0',
    ],
  ]),
  ...mistakesIn('src/domain/balancing/drain-turns.ts', TURNS, [
    ['balancing-gives-nobody-back', 'if (nowMs >= atMs) giveBack', 'if (nowMs < 0) giveBack'],
    [
      'balancing-gives-the-elder-back',
      ', { wish, isUnderWay: true }) < 0',
      ', elder.candidate) < 1',
    ],
    ['balancing-lets-others-pass-who-waits', 'if (!leaves) kept += 1;', ''],
    ['balancing-waits-behind-the-hopeless', 'if (left + coming < minActive) continue;', ''],
    [
      'balancing-drains-anew-whom-it-just-gave-back',
      'isJoining && elders.some(',
      'isJoining && [].some(',
    ],
  ]),
  ...mistakesIn('src/domain/balancing/drain-turns.ts', BACK, [
    [
      'balancing-gives-back-whom-nobody-waits-for',
      "state === 'drained' && !isParked(wish)",
      "state === 'drained'",
    ],
    [
      'balancing-gives-back-who-still-drains',
      "state === 'drained' && !isParked(wish)",
      '!isParked(wish)',
    ],
    ['balancing-waits-for-a-refusal-elsewhere', ' || refused ||', ' ||'],
  ]),
  ...mistakesIn('src/domain/balancing/member-steps.ts', BACK, [
    [
      'balancing-lets-each-balancer-have-its-own-order',
      'const isUnderWay = others.some(isLetGo);',
      'const isUnderWay = false;',
    ],
    [
      'balancing-sets-nobody-aside',
      'const isSetAside = isStuck && nowMs <',
      'const isSetAside = false && nowMs <',
    ],
  ]),
];

const wishes = mistakesIn(
  'src/domain/balancing/wish.ts',
  ['test/domain/balancing/wish.test.ts'],
  [
    [
      'balancing-drops-the-silent-while-the-guard-doubts',
      "({ state }) => state === 'frozen' || state === 'grace' || state === 'blind',",
      "({ state }) => state === 'blind',",
    ],
    [
      'balancing-keeps-a-silent-machine-that-somebody-wants-to-leave',
      'if (doubt !== null && !asked) return keep(doubt);',
      'if (doubt !== null) return keep(doubt);',
    ],
  ],
);

export const mutations: readonly Mutation[] = [
  ...members,
  ...refusedCalls,
  ...addresses,
  ...takenBack,
  ...serving,
  ...turns,
  ...wishes,
];
