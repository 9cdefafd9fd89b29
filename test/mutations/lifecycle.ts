import { mutationsOf } from './mutation.ts';

/** The life of one machine: where views lead, which state may follow which, and what is shown. */
export const mutations = mutationsOf`
src/machines/lifecycle.ts test/model/lifecycle.table.test.ts
  life-silent-resyncs-to-recovering:
    guard: { type: 'stateIs' as const, params: { state } },\n                target: \`#\${{+state === 'Running' ? 'Recovering' : +}state}\`,
  life-handed-over-is-quarantined:
    target: \`#\${{+state === 'HandedOver' ? 'Quarantined' : +}state}\` as const,
  life-other-view-is-forgotten: target: \`#\${state}\` as const,[-\n    actions: remember,-]
  life-same-view-is-forgotten: { guard: 'unchanged'[-, actions: remember-] },
  life-same-view-is-entered-anew: [-{ guard: 'unchanged', actions: remember },-]
  life-other-work-is-not-heard-of: { guard: 'sameState', [-target: '#resyncing', -]actions: remember },
  life-other-work-is-a-leap: [-{ guard: 'sameState', target: '#resyncing', actions: remember },-]
  life-leap-is-not-counted: [-[remember, { type: 'countLeap', params: observed }]-]{+remember+}
  life-leap-is-forgotten: [[-remember, -]{ type: 'countLeap', params: observed }]
  life-leap-is-refused: [-target: '#resyncing',\n                -]actions: [remember
  life-quarantine-is-a-leap: ...to([-...FROM_ANYWHERE-]{+'Deprovisioning'+}),
  life-deprovisioning-is-a-leap: ...to([-...FROM_ANYWHERE-]{+'Quarantined'+}),
  life-nothing-follows-running: [-on: follow('Running'),-]
  life-running-is-followed-as-reserved: on: follow('[-Running-]{+Reserved+}'),
  life-waiting-takes-no-recovery: waiting: waitFor('agentStart'[-, 'recovery'-]),
  life-waiting-starts-no-agent: resting: begin([-'agentStart', -]'recovery'),
  life-order-begins-an-agent-start:
    waiting: waitFor('{+recovery', '+}agentStart'[-, '-]{+).invoke.onDone.length ? waitFor('agentStart', 'agentStart') : begin('+}recovery'),
  life-silent-awaits-nothing: states: { resting[-: begin('recovery')-], waiting: waitFor('recovery') },
  life-silent-awaits-a-deprovision:
    states: { resting: begin('recovery'), waiting: waitFor('[-recovery-]{+deprovision+}') },
  life-cooling-down-awaits-nothing:
    resting[-: begin('recovery')-],\n                waiting: waitFor('recovery'),
  life-giving-back-awaits-nothing: resting[-: begin('deprovision')-],
  life-handed-over-awaits-a-turn: on: follow('HandedOver'),{+ ...waitFor('recovery'),+}
  life-quarantined-awaits-a-turn: on: follow('Quarantined'),{+ ...waitFor('recovery'),+}
  life-recovery-begins-an-agent-start: recovery: '#[-Recovering-]{+AgentStarting+}.working'
  life-deprovision-begins-a-recovery: deprovision: '#[-Deprovisioning-]{+Recovering+}.working'
  life-failed-wait-is-no-setback:
    target: TASKS[work],\n    })),\n    onError: [-afterCrash-]{+'#resyncing' as const+},
  life-task-keeps-its-turn: [-exit: { type: 'endTurn' as const, params: place },-]
  life-turn-ends-where-a-task-begins: [-exit-]{+entry+}: { type: 'endTurn' as const, params: place },
  life-task-is-interrupted-by-news:
    on: { 'machine.observed': { {+target: '#resyncing' as const, +}actions: remember } },
  life-task-is-begun-anew-by-news:
    on: { 'machine.observed': { {+target: '#AgentStarting.working' as const, reenter: true, +}actions: remember } },
  life-task-hears-no-news: on: { 'machine.observed': {[- actions: remember -]} },
  life-agent-start-recovers: working: working('[-agentStart-]{+recovery+}')
  life-recovery-starts-an-agent: working: working('[-recovery-]{+agentStart+}')
  life-deprovision-recovers: working: working('[-deprovision-]{+recovery+}')
  life-result-of-a-task-is-forgotten:
    onDone: { target: '#resyncing'[-, actions: { type: 'rememberResult' as const, params: result }-]{+ as const+} },
  life-done-is-provisioned:
    onDone: { target: '#[-resyncing-]{+Provisioned+}', actions: { type: 'rememberResult'
  life-crash-of-a-task-is-unheard:
    onDone: { target: '#resyncing', actions: { type: 'rememberResult' as const, params: result } },[-\n    onError: afterCrash,-]
  life-crash-of-a-task-is-no-setback:
    target: '#resyncing',[-\n  actions: { type: 'countSetback', params: crash },-]
  life-task-shows-as-at-rest: [-tags: 'working' as const,-]
  life-turn-of-another-work: next: [-context.view.next!-]{+'recovery'+},
  life-turn-without-setbacks: setbacks: [-context.setbacks-]{+0+},
  life-job-of-another-slot: \_\_slot: {+\`\${context.slot}-1\` as typeof +}context.slot,\n  machineId
src/domain/states.ts test/model/lifecycle.table.test.ts
  follow-release-is-a-leap-from-reserved: Reserved: ['Provisioned'[-, 'Released'-]]
  follow-running-follows-reserved: Reserved: ['Provisioned', 'Released'{+, 'Running'+}]
  follow-recovering-is-a-leap-from-provisioned: ['AgentStarting', [-'Recovering', -]'HandedOver']
  follow-hand-over-is-a-leap-from-running: Running: ['Recovering'[-, 'HandedOver'-]]
  follow-running-is-a-leap-from-recovering: Recovering: [[-'Running', -]'Provisioned']
  follow-quarantine-is-a-leap: FROM_ANYWHERE = [[-'Quarantined', -]'Deprovisioning']
src/machines/shown.ts test/machines/shown.test.ts test/actors/bring-up.test.ts test/model/lifecycle.table.test.ts
  shown-view-while-a-task-runs: if ([-!working-]{+view+}) {
  shown-substate-of-another-state: [-view.state === state ? view : snapshot.context.-]view
  shown-no-step: [-task ? stepOf(task) : -]null
  shown-no-step-but-the-first: if ([-task && task !== followed) task-]{+!machine) machine+}.subscribe
  shown-no-turn: [-snapshot.hasTag('waiting') || -]
`;
