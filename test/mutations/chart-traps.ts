import { mistakesIn, type Mutation } from './mutation.ts';

/** The traps of statecharts: order of guards, re-entry, memory that is kept, failures nobody hears. */

const lifecycle = mistakesIn(
  'src/machines/lifecycle.ts',
  ['test/model/lifecycle.table.test.ts'],
  [
    [
      'trap-failed-wait-ends-the-turn-too',
      `target: '#resyncing',
  actions: { type: 'countSetback', params: crash },`,
      `target: '#resyncing',
  actions: [
    { type: 'countSetback', params: crash },
    { type: 'endTurn', params: place },
  ],`,
    ],
    [
      'trap-turn-is-awaited-with-the-work-of-before',
      'input: turn,',
      `input: ({ context }: { context: LifecycleContext }) => ({
      ...turn({ context }),
      next: context.lastFailure === null ? context.view.next! : ('deprovision' as const),
    }),`,
    ],
  ],
);

const setup = mistakesIn(
  'src/machines/lifecycle-setup.ts',
  ['test/model/lifecycle.table.test.ts'],
  [
    [
      'trap-view-of-a-failed-task-is-ignored',
      'view: result.view ?? context.view',
      "view: result.outcome === 'done' ? (result.view ?? context.view) : context.view",
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
  ],
);

const operators = mistakesIn(
  'src/machines/lifecycle.ts',
  ['test/model/lifecycle.requests.test.ts', 'test/model/lifecycle.table.test.ts'],
  [
    ['trap-request-that-failed-is-unheard', "        onError: { target: 'pausing' },\n", ''],
    [
      'trap-pause-begins-anew-with-each-news',
      `after: { settlePause: { target: 'idle' } },`,
      `on: { 'machine.observed': { target: 'pausing', reenter: true } },
      after: { settlePause: { target: 'idle' } },`,
    ],
    [
      'trap-settled-is-asked-after-the-pause',
      "onDone: { target: 'idle',",
      "onDone: { target: 'pausing',",
    ],
  ],
);

const tasks = mistakesIn(
  'src/machines/recovery.ts',
  ['test/model/tasks.table.test.ts'],
  [
    [
      'trap-unknown-rung-of-a-silent-machine-reinstalls',
      `#recovery.resettingBmc' },
              { target: '#recovery.powerCycling' },`,
      `#recovery.resettingBmc' },
              { target: '#recovery.reinstalling' },`,
    ],
    [
      'trap-silence-claims-anew',
      `              { ...rungIs('rebooting'), target: '#recovery.rebooting' },`,
      `              { ...rungIs('rebooting'), target: '#recovery.claiming' },`,
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

export const mutations: readonly Mutation[] = [...lifecycle, ...setup, ...operators, ...tasks];
