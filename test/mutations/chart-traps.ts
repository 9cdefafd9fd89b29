import { mutationsOf } from './mutation.ts';

/** The traps of statecharts: order of guards, re-entry, memory that is kept, failures nobody hears. */
export const mutations = mutationsOf`
src/machines/lifecycle.ts test/model/lifecycle.table.test.ts
  trap-failed-wait-ends-the-turn-too:
    target: '#resyncing',\n  actions: {+[\n    +}{ type: 'countSetback', params: crash },{+\n    { type: 'endTurn', params: place },\n  ],+}
  trap-turn-is-awaited-with-the-work-of-before:
    input: [-turn-]{+({ context }: { context: LifecycleContext }) => ({\n      ...turn({ context }),\n      next: context.lastFailure === null ? context.view.next! : ('deprovision' as const),\n    })+},
  trap-view-of-a-failed-task-is-ignored:
    view: result.{+outcome === 'done' ? (result.+}view ?? context.view{+) : context.view+}
  trap-news-forget-setbacks:
    remember: assign({ {+setbacks: 0, +}view: (_, { view }: { view: MachineView }) => view }),
  trap-order-counts-as-a-success:
    lastFailure: result.outcome === 'done' ? null : result.failure,\n      setbacks: result.[-outcome === 'done-]{+view?.state === 'Recovering+}' ?
src/machines/lifecycle.ts test/model/lifecycle.requests.test.ts test/model/lifecycle.table.test.ts
  trap-request-that-failed-is-unheard: [-        onError: { target: 'pausing' },\n-]
  trap-pause-begins-anew-with-each-news:
    {+on: { 'machine.observed': { target: 'pausing', reenter: true } },\n      +}after: { applyPause: { target: 'idle' } },
  trap-settled-is-asked-after-the-pause: onDone: { target: '[-idle-]{+pausing+}',
src/machines/recovery.ts test/model/tasks.table.test.ts
  trap-unknown-rung-of-a-silent-machine-reinstalls:
    #recovery.resettingBmc'),\n          onTo('#recovery.[-powerCycling-]{+reinstalling+}'),
  trap-silence-claims-anew:
    \_\_\_\_\_\_\_\_\_\_onRung('rebooting', '#recovery.[-rebooting-]{+claiming+}'),\n          onRung
  trap-power-cycle-that-failed-is-not-given-up:
    \_\_\_\_\_\_\_\_\_\_{ target: '#[-givingUp-]{+rereading+}' },\n          { target: '#givingUp' },
`;
