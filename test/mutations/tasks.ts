import { mistakesIn, type Mutation } from './mutation.ts';

/** Takeover and deprovision, step by step, and how every task ends. */
export const mutations: readonly Mutation[] = [
  ...mistakesIn(
    'src/machines/task.ts',
    ['test/model/tasks.table.test.ts'],
    [
      [
        'task-claim-refused-is-given-up',
        `export const elseRefused = {
  target: '#rereading',`,
        `export const elseRefused = {
  target: '#givingUp',`,
      ],
      [
        'task-failure-is-not-given-up',
        `export const elseGiveUp = {
  target: '#givingUp',`,
        `export const elseGiveUp = {
  target: '#rereading',`,
      ],
      [
        'task-failure-is-not-told',
        `  target: '#givingUp',
  actions: { type: 'keepFailure', params: errorOf },
`,
        `  target: '#givingUp',
`,
      ],
      [
        'task-refusal-is-not-told',
        `  target: '#rereading',
  actions: { type: 'keepFailure', params: errorOf },
`,
        `  target: '#rereading',
`,
      ],
      [
        'task-success-is-not-told',
        `  target: '#rereading',
  actions: { type: 'keepOutcome', params: { outcome: 'done' } },
`,
        `  target: '#rereading',
`,
      ],
      [
        'task-given-up-is-told-as-refused',
        `    entry: { type: 'keepOutcome', params: { outcome: 'failed' } },
`,
        '',
      ],
      [
        'task-given-up-without-its-cause',
        '{ ...jobOf({ context }), failure: context.failure }',
        '{ ...jobOf({ context }), failure: null }',
      ],
      [
        'task-given-up-is-not-reread',
        `      onDone: { target: '#rereading' },
`,
        `      onDone: { target: '#ended' },
`,
      ],
      [
        'task-failed-giving-up-is-not-reread',
        `      onError: { target: '#rereading' },
`,
        `      onError: { target: '#ended' },
`,
      ],
      [
        'task-giving-up-is-repeated',
        `      onError: { target: '#rereading' },
`,
        `      onError: { target: '#givingUp', reenter: true },
`,
      ],
      [
        'task-view-is-not-told',
        `        actions: { type: 'keepView', params: ({ event }) => ({ view: event.output }) },
`,
        '',
      ],
      [
        'task-failed-reread-never-ends',
        `      onError: { target: '#ended' },
`,
        '',
      ],
      [
        'task-failed-reread-is-repeated',
        `      onError: { target: '#ended' },
`,
        `      onError: { target: '#rereading', reenter: true },
`,
      ],
      [
        'task-task-begins-as-done',
        `  outcome: 'refused',
  failure: null,`,
        `  outcome: 'done',
  failure: null,`,
      ],
      [
        'task-output-without-view',
        `  view: context.view,
});`,
        `  view: null,
});`,
      ],
      [
        'task-output-without-failure',
        `  failure: context.failure,
  view`,
        `  failure: null,
  view`,
      ],
      [
        'task-job-of-no-slot',
        `=> ({
  slot: context.slot,
  machineId: context.machineId,
});`,
        `=> ({
  slot: '' as Slot,
  machineId: context.machineId,
});`,
      ],
    ],
  ),
  ...mistakesIn(
    'src/machines/takeover.ts',
    ['test/model/tasks.table.test.ts'],
    [
      ['task-takeover-runs-unclaimed', "initial: 'claiming'", "initial: 'connecting'"],
      [
        'task-takeover-verifies-nothing',
        "onDone: { target: 'verifying' },",
        "onDone: { target: 'uploading' },",
      ],
      [
        'task-takeover-runs-on-another-host',
        `        src: 'verifyHost',
        input: jobOf,
        onDone: { target: 'uploading' },
        onError: elseGiveUp,`,
        `        src: 'verifyHost',
        input: jobOf,
        onDone: { target: 'uploading' },
        onError: { target: 'uploading' },`,
      ],
      [
        'task-takeover-uploads-nothing',
        "onDone: { target: 'uploading' },",
        "onDone: { target: 'executing' },",
      ],
      ['task-takeover-uploads-for-running', "src: 'execute',", "src: 'upload',"],
      [
        'task-takeover-lost-claim-goes-on',
        `        onDone: { target: 'connecting' },
        onError: elseRefused,`,
        `        onDone: { target: 'connecting' },
        onError: { target: 'connecting' },`,
      ],
      ['task-takeover-claim-is-given-up', 'onError: elseRefused,', 'onError: elseGiveUp,'],
      [
        'task-takeover-unrecorded-is-done',
        `        onDone: thenDone,
        onError: elseGiveUp,`,
        `        onDone: thenDone,
        onError: thenDone,`,
      ],
      [
        'task-takeover-unrecorded-is-kept',
        `        onDone: thenDone,
        onError: elseGiveUp,`,
        `        onDone: thenDone,
        onError: elseRefused,`,
      ],
    ],
  ),
  ...mistakesIn(
    'src/machines/deprovision.ts',
    ['test/model/tasks.table.test.ts'],
    [
      [
        'task-deprovision-leaves-the-agent',
        "onDone: { target: 'endingAgent' },",
        "onDone: { target: 'asking' },",
      ],
      [
        'task-deprovision-asks-though-the-agent-lives',
        `        onDone: { target: 'asking' },
        onError: elseGiveUp,`,
        `        onDone: { target: 'asking' },
        onError: { target: 'asking' },`,
      ],
      [
        'task-deprovision-believes-the-request',
        "onDone: { target: 'awaitingGone' },",
        "onDone: { target: 'awaitingReusable' },",
      ],
      [
        'task-deprovision-believes-in-gone',
        `        onDone: { target: 'awaitingReusable' },
        onError: elseGiveUp,`,
        `        onDone: { target: 'awaitingReusable' },
        onError: { target: 'awaitingReusable' },`,
      ],
      [
        'task-deprovision-waits-for-no-slot',
        "onDone: { target: 'awaitingReusable' },",
        "onDone: { target: 'recording' },",
      ],
      ['task-deprovision-asks-twice', "src: 'awaitGone',", "src: 'askDestroy',"],
      ['task-deprovision-records-nothing', "onDone: { target: 'recording' },", 'onDone: thenDone,'],
      [
        'task-deprovision-unrecorded-is-done',
        `        onDone: thenDone,
        onError: elseGiveUp,`,
        `        onDone: thenDone,
        onError: thenDone,`,
      ],
    ],
  ),
];
