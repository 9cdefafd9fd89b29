import { mistakesIn, type Mutation } from './mutation.ts';

/** The life of one machine: what it believes and remembers, and what operators say. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/machines/lifecycle-setup.ts',
    ['test/model/lifecycle.table.test.ts'],
    [
      ['life-due-without-a-machine', ' && view.machineId !== null', ''],
      [
        'life-due-for-any-work',
        'view.next !== null && works.includes(view.next)',
        'view.next !== null && works.length > 0',
      ],

      [
        'life-same-view-whatever-its-state',
        `event.view.state === context.view.state &&
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
    ],
  ),
  ...mistakesIn(
    'src/machines/lifecycle.ts',
    ['test/model/lifecycle.requests.test.ts'],
    [
      ['life-request-is-not-seen', "always: { guard: 'asked', target: 'settling' },", ''],
      [
        'life-settled-key-is-forgotten',
        "onDone: { target: 'idle', actions: { type: 'rememberSettled', params: settled } },",
        "onDone: { target: 'idle' },",
      ],
      [
        'life-failed-request-is-dropped',
        "onError: { target: 'pausing' },",
        "onError: { target: 'idle', actions: { type: 'rememberSettled', params: { key: 'ann-1' } } },",
      ],
      ['life-pause-has-no-end', "after: { settlePause: { target: 'idle' } },", ''],
      ['life-request-without-its-key', 'key: context.view.request!,', 'key: context.slot,'],
    ],
  ),
  ...mistakesIn(
    'src/machines/task.ts',
    ['test/model/lifecycle.table.test.ts'],
    [
      [
        'life-step-within-is-unknown',
        "typeof value === 'string' ? value : (Object.keys(value)[0] ?? '')",
        "typeof value === 'string' ? value : ''",
      ],
      ['life-end-of-a-task-is-a-step', 'name in endOfTask ? null : name', 'name'],
    ],
  ),
  ...mistakesIn(
    'src/machines/lifecycle-setup.ts',
    ['test/model/lifecycle.requests.test.ts'],
    [
      [
        'life-request-is-settled-again',
        'view.request !== null && view.request !== settledKey',
        'view.request !== null',
      ],
      [
        'life-pause-is-ten-times-as-long',
        'const SETTLE_PAUSE_MS = 5_000;',
        'const SETTLE_PAUSE_MS = 50_000;',
      ],
      ['life-pause-is-too-short', 'const SETTLE_PAUSE_MS = 5_000;', 'const SETTLE_PAUSE_MS = 500;'],
    ],
  ),
];
