import { mistakesIn, type Mutation } from './mutation.ts';

/** The life of one machine: what it believes and remembers, and what operators say. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/machines/lifecycle-setup.ts',
    ['test/model/lifecycle.table.test.ts'],
    [
      [
        'life-handed-over-is-quarantined',
        'target: `#${state}` as const,',
        `target: \`#\${state === 'HandedOver' ? 'Quarantined' : state}\` as const,`,
      ],
      [
        'life-running-is-a-leap-from-recovering',
        `'Recovering',
  'Provisioned',
  'Running',`,
        `'Recovering',
  'Provisioned',`,
      ],
      [
        'life-reserved-is-a-leap-from-deprovisioning',
        "follow('Deprovisioning', 'Reserved', 'Quarantined', 'Released')",
        "follow('Deprovisioning', 'Quarantined', 'Released')",
      ],
      [
        'life-order-without-a-machine',
        'context.view.next === next && context.view.machineId !== null',
        'context.view.next === next',
      ],
      [
        'life-order-for-any-work',
        'context.view.next === next && context.view.machineId !== null',
        'context.view.next !== null && context.view.machineId !== null',
      ],
      [
        'life-recovery-begins-a-takeover',
        "recovery: '#Recovering.ours'",
        "recovery: '#AgentStarting.ours'",
      ],
      [
        'life-deprovision-begins-a-recovery',
        "deprovision: '#Deprovisioning.ours'",
        "deprovision: '#Recovering.ours'",
      ],
      [
        'life-order-begins-a-takeover',
        'onDone: { target: TASKS.recovery } }',
        'onDone: { target: TASKS.agentStart } }',
      ],
      [
        'life-unused-turn-is-kept',
        "{ target: '#resyncing' as const, actions: { type: 'endTurn' as const, params: place } },",
        "{ target: '#resyncing' as const },",
      ],
      [
        'life-failed-wait-is-no-setback',
        `  onError: {
    target: '#resyncing' as const,
    actions: { type: 'countSetback' as const, params: crash },
  },`,
        "  onError: { target: '#resyncing' as const },",
      ],
      [
        'life-turn-of-another-work',
        `next: context.view.next,
  setbacks`,
        `next: 'recovery' as NextWork,
  setbacks`,
      ],
      [
        'life-turn-without-setbacks',
        `setbacks: context.setbacks,
});`,
        `setbacks: 0,
});`,
      ],
      [
        'life-same-view-whatever-its-state',
        `event.view.state === context.view.state &&
      `,
        '',
        'no two states have a substate of one name',
      ],
      [
        'life-same-view-whatever-its-substate',
        `event.view.substate === context.view.substate &&
      `,
        '',
      ],
      [
        'life-same-view-whatever-its-next',
        `event.view.next === context.view.next &&
      `,
        '',
      ],
      [
        'life-same-view-whatever-its-machineId',
        ` &&
      event.view.machineId === context.view.machineId`,
        '',
      ],
      [
        'life-same-view-is-forgotten',
        "{ guard: 'unchanged' as const, actions: { type: 'remember' as const, params: observed } }",
        "{ guard: 'unchanged' as const }",
      ],
      [
        'life-same-view-is-entered-anew',
        `  { guard: 'unchanged' as const, actions: { type: 'remember' as const, params: observed } },
`,
        '',
      ],
      [
        'life-other-view-is-forgotten',
        `    target: \`#\${state}\` as const,
    actions: { type: 'remember' as const, params: observed },`,
        '    target: `#${state}` as const,',
      ],
      [
        'life-leap-is-not-counted',
        `      { type: 'countLeap' as const, params: observed },
`,
        '',
      ],
      [
        'life-leap-is-forgotten',
        `      { type: 'remember' as const, params: observed },
      { type: 'countLeap'`,
        "      { type: 'countLeap'",
      ],
      [
        'life-leap-is-refused',
        `    target: '#resyncing' as const,
    actions: [`,
        '    actions: [',
      ],
      ['life-any-step-is-the-first', 'stepOf(snapshot) === step', "stepOf(snapshot) !== ''"],
      [
        'life-step-within-is-unknown',
        "typeof value === 'string' ? value : (Object.keys(value)[0] ?? '')",
        "typeof value === 'string' ? value : ''",
      ],
      ['life-task-view-is-ignored', 'view: result.view ?? context.view', 'view: context.view'],
      [
        'life-failure-is-forgotten',
        "lastFailure: result.outcome === 'done' ? null : result.failure",
        'lastFailure: null',
      ],
      [
        'life-failure-outlasts-success',
        "lastFailure: result.outcome === 'done' ? null : result.failure",
        'lastFailure: result.failure ?? context.lastFailure',
      ],
      [
        'life-refusal-is-no-setback',
        "setbacks: result.outcome === 'done' ? 0",
        "setbacks: result.outcome !== 'failed' ? 0",
      ],
      [
        'life-success-keeps-setbacks',
        "setbacks: result.outcome === 'done' ? 0",
        "setbacks: result.outcome === 'done' ? context.setbacks",
      ],
      ['life-setbacks-without-limit', 'const SETBACKS_MAX = 10;', 'const SETBACKS_MAX = 1_000;'],
      [
        'life-crash-is-no-setback',
        `      lastFailure: failureOf(error),
      setbacks: Math.min(context.setbacks + 1, SETBACKS_MAX),`,
        `      lastFailure: failureOf(error),
      setbacks: context.setbacks,`,
      ],
      [
        'life-crash-is-forgotten',
        `      lastFailure: failureOf(error),
`,
        `      lastFailure: null,
`,
      ],
      [
        'life-job-of-another-slot',
        `}): Job => ({
  slot: context.slot,`,
        `}): Job => ({
  slot: \`\${context.slot}-1\` as Slot,`,
      ],
    ],
  ),
  ...mistakesIn(
    'src/machines/lifecycle-operators.ts',
    ['test/model/lifecycle.requests.test.ts'],
    [
      [
        'life-hold-is-not-seen',
        `          { guard: 'held', target: 'held' },
`,
        '',
      ],
      [
        'life-hold-lasts-for-ever',
        `          { guard: 'unheld', target: 'free' },
`,
        '',
      ],
      [
        'life-request-is-not-seen',
        `          { guard: 'asked', target: 'settling' },
`,
        '',
      ],
      [
        'life-settled-key-is-forgotten',
        `              actions: { type: 'rememberSettled', params: settlement },
`,
        '',
      ],
      [
        'life-failed-request-is-dropped',
        "onError: { target: 'pausing' },",
        "onError: { target: 'idle' },",
      ],
      [
        'life-open-request-is-asked-at-once',
        `            { target: 'pausing' },
`,
        `            { target: 'idle' },
`,
      ],
      [
        'life-pause-has-no-end',
        `        after: { settlePause: { target: 'idle' } },
`,
        '',
      ],
      [
        'life-settling-outlasts-the-machine',
        `whatever else is under way.',
        always: { guard: 'released', target: 'over' },`,
        "whatever else is under way.',",
      ],
      [
        'life-pausing-outlasts-the-machine',
        `it is tried again after a while.',
        always: { guard: 'released', target: 'over' },`,
        "it is tried again after a while.',",
      ],
    ],
  ),
  ...mistakesIn(
    'src/machines/lifecycle-setup.ts',
    ['test/model/lifecycle.requests.test.ts'],
    [
      [
        'life-one-hold-is-none',
        `held: ({ context }) => context.view.holds.length > 0,
    unheld`,
        `held: ({ context }) => context.view.holds.length > 1,
    unheld`,
      ],
      [
        'life-request-is-settled-again',
        'view.request !== null && view.request !== settledKey',
        'view.request !== null',
      ],
      ['life-open-request-counts-as-settled', 'result.settled,', 'true,'],
      [
        'life-pause-is-ten-times-as-long',
        'const SETTLE_PAUSE_MS = 5_000;',
        'const SETTLE_PAUSE_MS = 50_000;',
      ],
      ['life-pause-is-too-short', 'const SETTLE_PAUSE_MS = 5_000;', 'const SETTLE_PAUSE_MS = 500;'],
      [
        'life-news-of-a-release-end-requests',
        "released: stateIn('#Released'),",
        "released: ({ context }) => context.view.state === 'Released',",
      ],
      ['life-request-without-its-key', 'key: context.view.request!,', 'key: context.slot,'],
    ],
  ),
];
