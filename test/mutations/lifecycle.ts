import { mistakesIn, type Mutation } from './mutation.ts';

const TABLE = ['test/model/lifecycle.table.test.ts'];

/** The life of one machine: where views lead, and what a turn begins in each state. */
const chart = mistakesIn('src/machines/lifecycle.ts', TABLE, [
  [
    'life-silent-resyncs-to-recovering',
    `guard: { type: 'stateIs' as const, params: { state } },
                target: \`#\${state}\`,`,
    `guard: { type: 'stateIs' as const, params: { state } },
                target: \`#\${state === 'Running' ? 'Recovering' : state}\`,`,
  ],
  [
    'life-handed-over-is-quarantined',
    'target: `#${state}` as const,',
    "target: `#${state === 'HandedOver' ? 'Quarantined' : state}` as const,",
  ],
  [
    'life-other-view-is-forgotten',
    `target: \`#\${state}\` as const,
    actions: remember,`,
    'target: `#${state}` as const,',
  ],
  [
    'life-same-view-is-forgotten',
    `{ guard: 'unchanged', actions: remember },`,
    `{ guard: 'unchanged' },`,
  ],
  ['life-same-view-is-entered-anew', `{ guard: 'unchanged', actions: remember },`, ''],
  [
    'life-other-work-is-not-heard-of',
    `{ guard: 'sameState', target: '#resyncing', actions: remember },`,
    `{ guard: 'sameState', actions: remember },`,
  ],
  [
    'life-other-work-is-a-leap',
    `{ guard: 'sameState', target: '#resyncing', actions: remember },`,
    '',
  ],
  ['life-leap-is-not-counted', `[remember, { type: 'countLeap', params: observed }]`, 'remember'],
  [
    'life-leap-is-forgotten',
    `[remember, { type: 'countLeap', params: observed }]`,
    `[{ type: 'countLeap', params: observed }]`,
  ],
  [
    'life-leap-is-refused',
    `target: '#resyncing',
                actions: [remember`,
    'actions: [remember',
  ],
  ['life-quarantine-is-a-leap', '...to(...FROM_ANYWHERE),', "...to('Deprovisioning'),"],
  ['life-deprovisioning-is-a-leap', '...to(...FROM_ANYWHERE),', "...to('Quarantined'),"],
  ['life-nothing-follows-running', "on: follow('Running'),", ''],
  ['life-running-is-followed-as-reserved', "on: follow('Running'),", "on: follow('Reserved'),"],
  [
    'life-waiting-takes-no-recovery',
    "waiting: waitFor('agentStart', 'recovery'),",
    "waiting: waitFor('agentStart'),",
  ],
  [
    'life-waiting-starts-no-agent',
    "resting: begin('agentStart', 'recovery'),",
    "resting: begin('recovery'),",
  ],
  [
    'life-order-begins-a-takeover',
    "waiting: waitFor('agentStart', 'recovery'),",
    "waiting: waitFor('recovery', 'agentStart').invoke.onDone.length ? waitFor('agentStart', 'agentStart') : begin('recovery'),",
  ],
  [
    'life-silent-awaits-nothing',
    "states: { resting: begin('recovery'), waiting: waitFor('recovery') },",
    "states: { resting, waiting: waitFor('recovery') },",
  ],
  [
    'life-silent-awaits-a-deprovision',
    "states: { resting: begin('recovery'), waiting: waitFor('recovery') },",
    "states: { resting: begin('recovery'), waiting: waitFor('deprovision') },",
  ],
  [
    'life-cooling-down-awaits-nothing',
    `resting: begin('recovery'),
                waiting: waitFor('recovery'),`,
    `resting,
                waiting: waitFor('recovery'),`,
  ],
  ['life-giving-back-awaits-nothing', "resting: begin('deprovision'),", 'resting,'],
  [
    'life-handed-over-awaits-a-turn',
    "on: follow('HandedOver'),",
    "on: follow('HandedOver'), ...waitFor('recovery'),",
  ],
  [
    'life-quarantined-awaits-a-turn',
    "on: follow('Quarantined'),",
    "on: follow('Quarantined'), ...waitFor('recovery'),",
  ],
  [
    'life-recovery-begins-a-takeover',
    "recovery: '#Recovering.working'",
    "recovery: '#AgentStarting.working'",
  ],
  [
    'life-deprovision-begins-a-recovery',
    "deprovision: '#Deprovisioning.working'",
    "deprovision: '#Recovering.working'",
  ],
  [
    'life-failed-wait-is-no-setback',
    `target: TASKS[work],
    })),
    onError: afterCrash,`,
    `target: TASKS[work],
    })),
    onError: '#resyncing' as const,`,
  ],
  ['life-task-keeps-its-turn', "exit: { type: 'endTurn' as const, params: place },", ''],
  [
    'life-turn-ends-where-a-task-begins',
    "exit: { type: 'endTurn' as const, params: place },",
    "entry: { type: 'endTurn' as const, params: place },",
  ],
  [
    'life-task-is-interrupted-by-news',
    "on: { 'machine.observed': { actions: remember } },",
    "on: { 'machine.observed': { target: '#resyncing' as const, actions: remember } },",
  ],
  [
    'life-task-is-begun-anew-by-news',
    "on: { 'machine.observed': { actions: remember } },",
    `on: { 'machine.observed': { target: '#AgentStarting.working' as const, reenter: true, actions: remember } },`,
  ],
  [
    'life-task-hears-no-news',
    "on: { 'machine.observed': { actions: remember } },",
    "on: { 'machine.observed': {} },",
  ],
  ['life-takeover-recovers', "working: working('takeover')", "working: working('recovery')"],
  ['life-recovery-takes-over', "working: working('recovery')", "working: working('takeover')"],
  ['life-deprovision-recovers', "working: working('deprovision')", "working: working('recovery')"],
  [
    'life-result-of-a-task-is-forgotten',
    `onDone: { target: '#resyncing', actions: { type: 'rememberResult' as const, params: result } },`,
    `onDone: { target: '#resyncing' as const },`,
  ],
  [
    'life-done-is-provisioned',
    `onDone: { target: '#resyncing', actions: { type: 'rememberResult'`,
    `onDone: { target: '#Provisioned', actions: { type: 'rememberResult'`,
  ],
  [
    'life-crash-of-a-task-is-unheard',
    `onDone: { target: '#resyncing', actions: { type: 'rememberResult' as const, params: result } },
    onError: afterCrash,`,
    `onDone: { target: '#resyncing', actions: { type: 'rememberResult' as const, params: result } },`,
  ],
  [
    'life-crash-of-a-task-is-no-setback',
    `target: '#resyncing',
  actions: { type: 'countSetback', params: crash },`,
    `target: '#resyncing',`,
  ],
  ['life-task-shows-as-at-rest', "tags: 'working' as const,", ''],
  ['life-turn-of-another-work', 'next: context.view.next!,', "next: 'recovery',"],
  ['life-turn-without-setbacks', 'setbacks: context.setbacks,', 'setbacks: 0,'],
  [
    'life-job-of-another-slot',
    `  slot: context.slot,
  machineId`,
    `  slot: \`\${context.slot}-1\` as typeof context.slot,
  machineId`,
  ],
]);

/** Which state may follow which. */
const follows = mistakesIn('src/domain/states.ts', TABLE, [
  [
    'follow-release-is-a-leap-from-reserved',
    "Reserved: ['Provisioned', 'Released']",
    "Reserved: ['Provisioned']",
  ],
  [
    'follow-running-follows-reserved',
    "Reserved: ['Provisioned', 'Released']",
    "Reserved: ['Provisioned', 'Released', 'Running']",
  ],
  [
    'follow-recovering-is-a-leap-from-provisioned',
    "['AgentStarting', 'Recovering', 'HandedOver']",
    "['AgentStarting', 'HandedOver']",
  ],
  [
    'follow-hand-over-is-a-leap-from-running',
    "Running: ['Recovering', 'HandedOver']",
    "Running: ['Recovering']",
  ],
  [
    'follow-running-is-a-leap-from-recovering',
    "Recovering: ['Running', 'Provisioned']",
    "Recovering: ['Provisioned']",
  ],
  [
    'follow-quarantine-is-a-leap',
    "FROM_ANYWHERE = ['Quarantined', 'Deprovisioning']",
    "FROM_ANYWHERE = ['Deprovisioning']",
  ],
]);

/** What is shown of a machine. */
const shown = mistakesIn(
  'src/machines/shown.ts',
  ['test/machines/shown.test.ts', 'test/actors/bring-up.test.ts', ...TABLE],
  [
    ['shown-view-while-a-task-runs', 'if (!working) {', 'if (view) {'],
    [
      'shown-substate-of-another-state',
      'view.state === state ? view : snapshot.context.view',
      'view',
    ],
    ['shown-no-step', 'task ? stepOf(task) : null', 'null'],
    [
      'shown-no-step-but-the-first',
      'if (task && task !== followed) task.subscribe',
      'if (!machine) machine.subscribe',
    ],
    ['shown-no-turn', "snapshot.hasTag('waiting') || ", ''],
  ],
);

export const mutations: readonly Mutation[] = [...chart, ...follows, ...shown];
