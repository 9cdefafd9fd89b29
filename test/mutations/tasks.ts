import { mutationsOf } from './mutation.ts';

/** Agent start and deprovision, step by step, and how every task ends. */
export const mutations = mutationsOf`
src/machines/task.ts test/model/tasks.table.test.ts
  task-claim-refused-is-given-up: export const elseRefused = {\n  target: '#[-rereading-]{+givingUp+}',
  task-failure-is-not-given-up: export const elseGiveUp = {\n  target: '#[-givingUp-]{+rereading+}',
  task-failure-is-not-told:
    \_\_target: '#givingUp',[-\n  actions: { type: 'keepFailure', params: errorOf },-]\n
  task-refusal-is-not-told:
    \_\_target: '#rereading',[-\n  actions: { type: 'keepFailure', params: errorOf },-]\n
  task-success-is-not-told:
    \_\_target: '#rereading',[-\n  actions: { type: 'keepOutcome', params: { outcome: 'done' } },-]\n
  task-given-up-is-told-as-refused: [-    entry: { type: 'keepOutcome', params: { outcome: 'failed' } },\n-]
  task-result-is-forgotten: results: { [-...context.results, -]...results },
  task-result-is-not-given: \_\_...jobOf({ context }),\n[-  ...context.results,\n-]
  task-given-up-without-its-cause: \_\_\_\_\_\_\_\_failure: [-context.failure-]{+null+},\n      }
  task-given-up-is-not-reread: \_\_\_\_\_\_onDone: { target: '#[-rereading-]{+ended+}' },\n
  task-failed-giving-up-is-not-reread: \_\_\_\_\_\_onError: { target: '#[-rereading-]{+ended+}' },\n
  task-giving-up-is-repeated: \_\_\_\_\_\_onError: { target: '#[-rereading'-]{+givingUp', reenter: true+} },\n
  task-view-is-not-told:
    \_\_\_\_\_\_\_\_\_\_params: ({ event }: { event: { output: MachineView | null } }) => ({\n            view: [-event.output-]{+null+},
  task-failed-reread-never-ends: [-      onError: { target: '#ended' },\n-]
  task-failed-reread-is-repeated:
    \_\_\_\_\_\_onError: { target: '#[-ended'-]{+rereading', reenter: true+} },\n
  task-task-begins-as-done: \_\_outcome: '[-refused-]{+done+}',\n  failure: null,
  task-output-without-view: \_\_view: [-context.view-]{+null+},\n});
  task-output-without-failure: \_\_failure: [-context.failure-]{+null+},\n  view
  task-job-of-no-slot: => ({\n  slot: [-context.slot-]{+'' as Slot+},\n  machineId: context.machineId,\n});
src/machines/agent-start.ts test/model/tasks.table.test.ts
  task-agent-start-runs-unclaimed: initial: '[-claiming-]{+connecting+}'
  task-agent-start-verifies-nothing: onTo('[-verifying-]{+uploading+}'),
  task-agent-start-runs-on-another-host: onTo('uploading'){+, onTo('uploading')+},
  task-agent-start-uploads-nothing: onTo('[-uploading-]{+executing+}'),
  task-agent-start-uploads-for-running: executing: step(\n      '[-execute-]{+upload+}',
  task-agent-start-lost-claim-goes-on: onTo('connecting'),\n      [-elseRefused-]{+onTo('connecting')+},
  task-agent-start-claim-is-given-up: onTo('connecting'),\n[-      elseRefused,\n-]
  task-agent-start-unrecorded-is-done: thenDone,{+\n      thenDone,+}\n    ),
  task-agent-start-unrecorded-is-kept: thenDone,{+\n      elseRefused,+}\n    ),
src/machines/deprovision.ts test/model/tasks.table.test.ts
  task-deprovision-leaves-the-agent: onTo('[-endingAgent-]{+asking+}'),
  task-deprovision-asks-though-the-agent-lives: onTo('asking'){+, onTo('asking')+},
  task-deprovision-believes-the-request: onTo('[-awaitingGone-]{+awaitingReusable+}'),
  task-deprovision-believes-in-gone: onTo('awaitingReusable'){+, onTo('awaitingReusable')+},
  task-deprovision-waits-for-no-slot: onTo('[-awaitingReusable-]{+recording+}'),
  task-deprovision-asks-twice: awaitingGone: step(\n      '[-awaitGone-]{+askDestroy+}',
  task-deprovision-records-nothing: [-onTo('recording')-]{+thenDone+},
  task-deprovision-unrecorded-is-done: thenDone,{+\n      thenDone,+}\n    ),
`;
