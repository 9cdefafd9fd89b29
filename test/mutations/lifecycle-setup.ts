import { mutationsOf } from './mutation.ts';

/** The life of one machine: what it believes and remembers, and what operators say. */
export const mutations = mutationsOf`
src/machines/lifecycle.ts test/model/lifecycle.table.test.ts
  life-due-without-a-machine: [- && view.machineId !== null-]
  life-due-for-any-work: view.next !== null && works.[-includes(view.next)-]{+length > 0+}
  life-same-view-whatever-its-state: [-event.view.state === context.view.state &&\n      -]
  life-same-view-whatever-its-next: [-event.view.next === context.view.next &&\n      -]
  life-same-view-whatever-its-machineId: [- &&\n      event.view.machineId === context.view.machineId-]
  life-task-view-is-ignored: view: [-result.view ?? -]context.view
  life-failure-is-forgotten: lastFailure: [-result.outcome === 'done' ? null : result.failure-]{+null+}
  life-failure-outlasts-success:
    lastFailure: result.[-outcome === 'done' ? null : result.failure-]{+failure ?? context.lastFailure+}
  life-refusal-is-no-setback: setbacks: result.outcome [-=== 'done-]{+!== 'failed+}' ? 0
  life-success-keeps-setbacks: setbacks: result.outcome === 'done' ? [-0-]{+context.setbacks+}
  life-setbacks-without-limit: const SETBACKS_MAX = [-10-]{+1_000+};
  life-crash-is-no-setback:
    \_\_\_\_\_\_lastFailure: failureOf(error),\n      setbacks: [-Math.min(-]context.setbacks[- + 1, SETBACKS_MAX),-]{+,+}
  life-crash-is-forgotten: \_\_\_\_\_\_lastFailure: [-failureOf(error)-]{+null+},\n
src/machines/lifecycle.ts test/model/lifecycle.requests.test.ts
  life-request-is-applied-again: view.request !== null[- && view.request !== appliedKey-]
  life-pause-is-ten-times-as-long: const APPLY_PAUSE_MS = [-5_000-]{+50_000+};
  life-pause-is-too-short: const APPLY_PAUSE_MS = [-5_000-]{+500+};
  life-request-is-not-seen: [-always: { guard: 'asked', target: 'settling' },-]
  life-applied-key-is-forgotten:
    onDone: { target: 'idle'[-, actions: { type: 'rememberApplied', params: applied }-] },
  life-failed-request-is-dropped:
    onError: { target: '[-pausing'-]{+idle', actions: { type: 'rememberApplied', params: { key: 'ann-1' } }+} },
  life-pause-has-no-end: [-after: { applyPause: { target: 'idle' } },-]
  life-request-without-its-key: key: context.[-view.request!-]{+slot+},
src/machines/task.ts test/model/lifecycle.table.test.ts
  life-step-within-is-unknown: typeof value === 'string' ? value : [-(Object.keys(value)[0] ?? '')-]{+''+}
  life-end-of-a-task-is-a-step: [-name in endOfTask ? null : -]name
`;
