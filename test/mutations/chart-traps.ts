import { mistakesIn, type Mutation } from './mutation.ts';

/** The traps of statecharts: order of guards, re-entry, memory that is kept, failures nobody hears. */

const lifecycle = mistakesIn(
  'src/machines/lifecycle.ts',
  ['test/model/lifecycle.table.test.ts'],
  [
    [
      'trap-crash-of-a-takeover-is-no-setback',
      `step('executing'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },
                onError: { target: '#resyncing', actions: { type: 'countSetback', params: crash } },`,
      `step('executing'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },
                onError: { target: '#resyncing' },`,
    ],
    [
      'trap-crash-of-a-recovery-is-unheard',
      `step('reinstalling'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },
                onError: { target: '#resyncing', actions: { type: 'countSetback', params: crash } },`,
      `step('reinstalling'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },`,
    ],
    [
      'trap-result-of-a-deprovision-is-forgotten',
      `step('awaitingReusable'),
                  step('recording'),
                ],
                onDone: {
                  target: '#resyncing',
                  actions: { type: 'rememberResult', params: result },
                },`,
      `step('awaitingReusable'),
                  step('recording'),
                ],
                onDone: { target: '#resyncing' },`,
    ],
    [
      'trap-recovery-keeps-the-view-it-began-with',
      `description: 'This daemon recovers the machine; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },
              on: { 'machine.observed': { actions: { type: 'remember', params: observed } } },`,
      `description: 'This daemon recovers the machine; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },`,
    ],
    [
      'trap-recovery-of-ours-shows-as-settled',
      `tags: 'busy',
              description: 'This daemon recovers`,
      `tags: 'settled',
              description: 'This daemon recovers`,
    ],
    [
      'trap-news-restart-a-takeover',
      `description: 'This daemon takes the machine over; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },
              on: { 'machine.observed': {`,
      `description: 'This daemon takes the machine over; news wait until the task ends.',
              exit: { type: 'endTurn', params: place },
              on: { 'machine.observed': {target: '#AgentStarting.ours', reenter: true, `,
    ],
    [
      'trap-order-is-seen-after-the-first-heartbeat-only',
      `placedOrdered,
                placed('awaitingHeartbeat'),`,
      `placed('awaitingHeartbeat'),
                placedOrdered,`,
    ],
    [
      'trap-order-is-not-seen-while-installing',
      `placedOrdered,
                placed('installing'),`,
      `placed('installing'),
                placedOrdered,`,
    ],
    [
      'trap-deleting-recovers',
      `for another daemon.',
              on: { 'machine.observed': afterDeprovision },
              invoke: awaitTurn('deprovision'),`,
      `for another daemon.',
              on: { 'machine.observed': afterDeprovision },
              invoke: awaitTurn('recovery', 'deprovision'),`,
    ],
    [
      'trap-handed-over-awaits-a-turn',
      `tags: 'settled',
          description: 'Its operating system is installed`,
      `invoke: awaitTurn('recovery'),
          tags: 'settled',
          description: 'Its operating system is installed`,
    ],
    [
      'trap-quarantined-awaits-a-turn',
      `              description: 'The ladder came to its end; heartbeats end this.',`,
      `              description: 'The ladder came to its end; heartbeats end this.',
              invoke: awaitTurn('recovery'),`,
    ],
    [
      'trap-work-of-another-shows-as-cooling-down',
      `always: [placed('coolingDown'), { target: 'elsewhere' }] }`,
      `always: [placed('elsewhere'), { target: 'coolingDown' }] }`,
    ],
    [
      'trap-turn-ends-where-a-deprovision-begins',
      `description: 'This daemon gives the machine back; news wait until the task ends.',
              exit: {`,
      `description: 'This daemon gives the machine back; news wait until the task ends.',
              entry: {`,
    ],
  ],
);

const setup = mistakesIn(
  'src/machines/lifecycle-setup.ts',
  ['test/model/lifecycle.table.test.ts'],
  [
    [
      'trap-each-step-restarts-its-task',
      'target: `.${name}`,',
      'target: `.${name}`,\n  reenter: true,',
    ],
    [
      'trap-view-of-a-failed-task-is-ignored',
      'view: result.view ?? context.view',
      "view: result.outcome === 'done' ? (result.view ?? context.view) : context.view",
    ],
    [
      'trap-failed-wait-ends-the-turn-too',
      `  onError: {
    target: '#resyncing' as const,
    actions: { type: 'countSetback' as const, params: crash },
  },`,
      `  onError: {
    target: '#resyncing' as const,
    actions: [
      { type: 'countSetback' as const, params: crash },
      { type: 'endTurn' as const, params: place },
    ],
  },`,
    ],
    [
      'trap-news-forget-setbacks',
      'remember: assign({ view: (_, { view }: { view: MachineView }) => view }),',
      'remember: assign({ setbacks: 0, view: (_, { view }: { view: MachineView }) => view }),',
    ],
    [
      'trap-order-counts-as-a-success',
      "lastFailure: result.outcome === 'done' ? null : result.failure,\n      setbacks: result.outcome === 'done' ?",
      "lastFailure: result.outcome === 'done' ? null : result.failure,\n      setbacks: result.view?.state === 'Recovering' ?",
    ],
    [
      'trap-turn-is-awaited-with-the-work-of-before',
      'input: turn,',
      `input: ({ context }: { context: LifecycleContext }) => ({
    ...turn({ context }),
    next: context.lastFailure === null ? context.view.next : null,
  }),`,
    ],
  ],
);

const operators = mistakesIn(
  'src/machines/lifecycle-operators.ts',
  ['test/model/lifecycle.requests.test.ts', 'test/model/lifecycle.table.test.ts'],
  [
    [
      'trap-idle-requests-outlast-the-machine',
      `ask nothing that is to be settled now.',
        always: [
          { guard: 'released', target: 'over' },`,
      `ask nothing that is to be settled now.',
        always: [`,
    ],
    [
      'trap-holds-outlast-the-machine',
      `unchanged.',
        always: [
          { guard: 'released', target: 'over' },`,
      `unchanged.',
        always: [`,
    ],
    [
      'trap-request-that-failed-is-unheard',
      `            { target: 'pausing' },
          ],
          onError: { target: 'pausing' },`,
      `            { target: 'pausing' },
          ],`,
    ],
    [
      'trap-pause-begins-anew-with-each-news',
      `after: { settlePause: { target: 'idle' } },`,
      `on: { 'machine.observed': { target: 'pausing', reenter: true } },
        after: { settlePause: { target: 'idle' } },`,
    ],
    [
      'trap-settled-is-asked-after-the-pause',
      `guard: { type: 'settled', params: settlement },
              target: 'idle',`,
      `guard: { type: 'settled', params: settlement },
              target: 'pausing',`,
    ],
  ],
);

const tasks = mistakesIn(
  'src/machines/recovery.ts',
  ['test/model/tasks.table.test.ts'],
  [
    [
      'trap-unknown-rung-of-a-silent-machine-reinstalls',
      `{ target: '#recovery.powerCycling' },`,
      `{ target: '#recovery.reinstalling' },`,
    ],
    [
      'trap-silence-claims-anew',
      `{ ...rungIs('rebooting'), target: '#recovery.rebooting' },`,
      `{ ...rungIs('rebooting'), target: '#recovery.claiming' },`,
    ],
    [
      'trap-refused-claim-of-a-recovery-is-given-up',
      'onError: elseRefused,',
      'onError: elseGiveUp,',
    ],
    [
      'trap-power-is-asked-on-before-it-is-off',
      `input: jobOf,
            onDone: { target: 'awaitingOff' },`,
      `input: jobOf,
            onDone: { target: 'switchingOn' },`,
    ],
    [
      'trap-power-cycle-that-failed-is-not-given-up',
      `id: 'restorePower',
            src: 'restorePower',
            input: jobOf,
            onDone: { target: '#givingUp' },
            onError: { target: '#givingUp' },`,
      `id: 'restorePower',
            src: 'restorePower',
            input: jobOf,
            onDone: { target: '#rereading' },
            onError: { target: '#givingUp' },`,
    ],
  ],
);

const leaf = mistakesIn(
  'src/machines/leaf.ts',
  ['test/machines/leaf.test.ts', 'test/model/lifecycle.table.test.ts'],
  [
    ['trap-leaf-of-a-state-that-is-none', 'return NAMES.has(life) ? {', "return life !== '' ? {"],
    [
      'trap-leaf-of-an-inner-state-that-is-none',
      '|| !NAMES.has(state)) return null',
      ') return null',
    ],
    [
      'trap-leaf-shows-ours',
      "name === 'ours' || typeof deeper === 'object' ? deeper : name",
      "typeof deeper === 'object' ? deeper : name",
    ],
  ],
);

export const mutations: readonly Mutation[] = [
  ...lifecycle,
  ...setup,
  ...operators,
  ...tasks,
  ...leaf,
];
