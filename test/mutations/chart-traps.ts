import { mutationsOf } from './mutation.ts';

/** The traps of statecharts: order of guards, re-entry, memory that is kept, failures nobody hears. */
export const mutations = mutationsOf({
  'src/machines/lifecycle.ts test/model/lifecycle.table.test.ts': {
    'trap-failed-wait-ends-the-turn-too': `target: '#resyncing',
  actions: {+[
    +}{ type: 'countSetback', params: crash },{+
    { type: 'endTurn', params: place },
  ],+}`,
    'trap-turn-is-awaited-with-the-work-of-before': `input: [-turn-]{+({ context }: { context: LifecycleContext }) => ({
      ...turn({ context }),
      next: context.lastFailure === null ? context.view.next! : ('deprovision' as const),
    })+},`,
    'trap-view-of-a-failed-task-is-ignored':
      "view: result.{+outcome === 'done' ? (result.+}view ?? context.view{+) : context.view+}",
    'trap-news-forget-setbacks':
      'remember: assign({ {+setbacks: 0, +}view: (_, { view }: { view: MachineView }) => view }),',
    'trap-order-counts-as-a-success': `lastFailure: result.outcome === 'done' ? null : result.failure,
      setbacks: result.[-outcome === 'done-]{+view?.state === 'Recovering+}' ?`,
  },
  'src/machines/lifecycle.ts test/model/lifecycle.requests.test.ts test/model/lifecycle.table.test.ts':
    {
      'trap-request-that-failed-is-unheard': "[-        onError: { target: 'pausing' },\n-]",
      'trap-pause-begins-anew-with-each-news':
        "{+on: { 'machine.observed': { target: 'pausing', reenter: true } },\n      +}after: { settlePause: { target: 'idle' } },",
      'trap-settled-is-asked-after-the-pause': "onDone: { target: '[-idle-]{+pausing+}',",
    },
  'src/machines/recovery.ts test/model/tasks.table.test.ts': {
    'trap-unknown-rung-of-a-silent-machine-reinstalls':
      "#recovery.resettingBmc'),\n          onTo('#recovery.[-powerCycling-]{+reinstalling+}'),",
    'trap-silence-claims-anew':
      "          onRung('rebooting', '#recovery.[-rebooting-]{+claiming+}'),\n          onRung",
    'trap-refused-claim-of-a-recovery-is-given-up': '[-      elseRefused,\n-]    ),',
    'trap-power-is-asked-on-before-it-is-off': "onTo('[-awaitingOff-]{+switchingOn+}'),",
    'trap-power-cycle-that-failed-is-not-given-up':
      "          { target: '#[-givingUp-]{+rereading+}' },\n          { target: '#givingUp' },",
  },
});
