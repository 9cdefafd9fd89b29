import { mutationsOf } from './mutation.ts';

/** Takeover and deprovision, step by step, and how every task ends. */
export const mutations = mutationsOf({
  'src/machines/task.ts test/model/tasks.table.test.ts': {
    'task-claim-refused-is-given-up':
      "export const elseRefused = {\n  target: '#[-rereading-]{+givingUp+}',",
    'task-failure-is-not-given-up':
      "export const elseGiveUp = {\n  target: '#[-givingUp-]{+rereading+}',",
    'task-failure-is-not-told':
      "  target: '#givingUp',[-\n  actions: { type: 'keepFailure', params: errorOf },-]\n",
    'task-refusal-is-not-told':
      "  target: '#rereading',[-\n  actions: { type: 'keepFailure', params: errorOf },-]\n",
    'task-success-is-not-told':
      "  target: '#rereading',[-\n  actions: { type: 'keepOutcome', params: { outcome: 'done' } },-]\n",
    'task-given-up-is-told-as-refused':
      "[-    entry: { type: 'keepOutcome', params: { outcome: 'failed' } },\n-]",
    'task-given-up-without-its-cause':
      '{ ...jobOf({ context }), failure: [-context.failure-]{+null+} }',
    'task-given-up-is-not-reread': "      onDone: { target: '#[-rereading-]{+ended+}' },\n",
    'task-failed-giving-up-is-not-reread':
      "      onError: { target: '#[-rereading-]{+ended+}' },\n",
    'task-giving-up-is-repeated':
      "      onError: { target: '#[-rereading'-]{+givingUp', reenter: true+} },\n",
    'task-view-is-not-told':
      "[-        actions: { type: 'keepView', params: ({ event }) => ({ view: event.output }) },\n-]",
    'task-failed-reread-never-ends': "[-      onError: { target: '#ended' },\n-]",
    'task-failed-reread-is-repeated':
      "      onError: { target: '#[-ended'-]{+rereading', reenter: true+} },\n",
    'task-task-begins-as-done': "  outcome: '[-refused-]{+done+}',\n  failure: null,",
    'task-output-without-view': '  view: [-context.view-]{+null+},\n});',
    'task-output-without-failure': '  failure: [-context.failure-]{+null+},\n  view',
    'task-job-of-no-slot':
      "=> ({\n  slot: [-context.slot-]{+'' as Slot+},\n  machineId: context.machineId,\n});",
  },
  'src/machines/takeover.ts test/model/tasks.table.test.ts': {
    'task-takeover-runs-unclaimed': "initial: '[-claiming-]{+connecting+}'",
    'task-takeover-verifies-nothing': "onDone: { target: '[-verifying-]{+uploading+}' },",
    'task-takeover-runs-on-another-host': `        src: 'verifyHost',
        input: jobOf,
        onDone: { target: 'uploading' },
        onError: [-elseGiveUp-]{+{ target: 'uploading' }+},`,
    'task-takeover-uploads-nothing': "onDone: { target: '[-uploading-]{+executing+}' },",
    'task-takeover-uploads-for-running': "src: '[-execute-]{+upload+}',",
    'task-takeover-lost-claim-goes-on':
      "        onDone: { target: 'connecting' },\n        onError: [-elseRefused-]{+{ target: 'connecting' }+},",
    'task-takeover-claim-is-given-up': 'onError: [-elseRefused-]{+elseGiveUp+},',
    'task-takeover-unrecorded-is-done':
      '        onDone: thenDone,\n        onError: [-elseGiveUp-]{+thenDone+},',
    'task-takeover-unrecorded-is-kept':
      '        onDone: thenDone,\n        onError: [-elseGiveUp-]{+elseRefused+},',
  },
  'src/machines/deprovision.ts test/model/tasks.table.test.ts': {
    'task-deprovision-leaves-the-agent': "onDone: { target: '[-endingAgent-]{+asking+}' },",
    'task-deprovision-asks-though-the-agent-lives':
      "        onDone: { target: 'asking' },\n        onError: [-elseGiveUp-]{+{ target: 'asking' }+},",
    'task-deprovision-believes-the-request':
      "onDone: { target: '[-awaitingGone-]{+awaitingReusable+}' },",
    'task-deprovision-believes-in-gone':
      "        onDone: { target: 'awaitingReusable' },\n        onError: [-elseGiveUp-]{+{ target: 'awaitingReusable' }+},",
    'task-deprovision-waits-for-no-slot':
      "onDone: { target: '[-awaitingReusable-]{+recording+}' },",
    'task-deprovision-asks-twice': "src: '[-awaitGone-]{+askDestroy+}',",
    'task-deprovision-records-nothing': "onDone: [-{ target: 'recording' }-]{+thenDone+},",
    'task-deprovision-unrecorded-is-done':
      '        onDone: thenDone,\n        onError: [-elseGiveUp-]{+thenDone+},',
  },
});
