import type { EventObject } from 'xstate';
import {
  HostKeyRejected,
  LeaseLost,
  NothingToDo,
  SessionExpired,
  Unreachable,
} from '../../src/domain/errors.ts';
import { machineId } from '../../src/domain/ids.ts';
import { STAGES } from '../../src/domain/balancing/plan.ts';
import { balancer } from '../../src/machines/balancer.ts';
import { deprovision } from '../../src/machines/deprovision.ts';
import { fleet } from '../../src/machines/fleet.ts';
import { lifecycle, type LifecycleContext } from '../../src/machines/lifecycle.ts';
import { guard, type GuardFindings } from '../../src/machines/guard.ts';
import type { GuardState } from '../../src/domain/recovery/standing.ts';
import { provisioner } from '../../src/machines/provisioner.ts';
import { recovery } from '../../src/machines/recovery.ts';
import { session } from '../../src/machines/session.ts';
import { takeover } from '../../src/machines/takeover.ts';
import type { Outcome, TaskResult } from '../../src/machines/task.ts';
import type { MachineView } from '../../src/domain/view.ts';
import type { ChartSnapshot, Subject } from '../support/replay.ts';
import { MACHINE, SLOT } from '../support/facts.ts';
import { viewAt } from '../support/views.ts';
import { RESTS } from './lifecycle.table.ts';
import { askedIn, lifecycleTruth } from './lifecycle.truth.ts';
import { RUNGS } from '../../src/domain/recovery/rungs.ts';

/** The shipped charts, each with a world in which all of it can be seen. */

export const JOB = { slot: SLOT, machineId: MACHINE };
const ANOTHER_TENANCY = machineId('aaaaaaaa-0000-4000-8000-000000000002');
const fault = new Unreachable('scripted fault');
const step = { done: [undefined], errors: [fault] };
const reread = { done: [viewAt('Running', 'awaitingHeartbeat'), null], errors: [fault] };
const taskBits = ({ context }: ChartSnapshot) => [
  context['outcome'],
  (context['failure'] as { code: string } | null)?.code,
  (context['view'] as MachineView | null)?.state,
];

export const takeoverSubject: Subject = {
  chart: takeover,
  input: JOB,
  services: {
    claimStart: { done: [undefined], errors: [new NothingToDo('not eligible')] },
    connect: step,
    verifyHost: { done: [undefined], errors: [new HostKeyRejected('another host')] },
    upload: step,
    execute: step,
    recordStart: { done: [undefined], errors: [new SessionExpired('too late')] },
    giveUp: step,
    reread,
  },
  keyOf: taskBits,
};

export const recoverySubject: Subject = {
  chart: recovery,
  input: JOB,
  services: {
    claimRecovery: {
      done: RUNGS.map((rung) => ({ rung })),
      errors: [new NothingToDo('not eligible')],
    },
    reachAgent: {
      done: RUNGS.slice(0, -1).map((rung) => ({ rung })),
      errors: [new HostKeyRejected('another host')],
    },
    askReset: {
      done: ['resettingBmc', 'rebooting', 'powerCycling'].map((rung) => ({ rung })),
      errors: [fault],
    },
    awaitController: {
      done: ['rebooting', 'powerCycling'].map((rung) => ({ rung })),
      errors: [fault],
    },
    stopAgent: step,
    askReboot: step,
    switchOff: step,
    awaitOff: step,
    switchOn: step,
    restorePower: step,
    awaitBoot: step,
    askReinstall: step,
    awaitSystem: step,
    recordRecovery: step,
    giveUp: step,
    reread,
  },
  keyOf: taskBits,
};

export const deprovisionSubject: Subject = {
  chart: deprovision,
  input: JOB,
  services: {
    claimDeprovision: { done: [undefined], errors: [new NothingToDo('not eligible')] },
    endAgent: step,
    askDestroy: step,
    awaitGone: step,
    awaitReusable: step,
    recordDeprovision: step,
    giveUp: step,
    reread,
  },
  keyOf: taskBits,
};

const results = (...views: (MachineView | null)[]): TaskResult[] =>
  views.map((view, at) => {
    const outcome: Outcome = at === 0 ? 'done' : at === 1 ? 'failed' : 'refused';
    const failure = outcome === 'done' ? null : { code: 'unreachable', message: 'scripted' };
    return { outcome, failure, view };
  });

/** While a task runs, news are only remembered: a few of them say as much as all. */
const TOLD_WHILE_BUSY = [
  viewAt('Released', 'gone'),
  viewAt('Quarantined', 'byOperator'),
  viewAt('Running', 'healthy', { holds: ['no-recover'] }),
];

/** While something is being settled, and after it, life goes on as ever: a few news say it all. */
const TOLD_WHILE_ASKED = [
  viewAt('Running', 'healthy', { request: 'request-1' }),
  viewAt('Running', 'healthy'),
  viewAt('Released', 'gone'),
];

/** The views that an actor can be told, with the work that may be due in each place. */
const VIEWS: readonly MachineView[] = [
  ...RESTS.map(({ state, substate, next }) => viewAt(state, substate, { next })),
  viewAt('Running', 'healthy', { holds: ['no-recover'] }),
  viewAt('Quarantined', 'byOperator', { holds: ['no-recover'] }),
  viewAt('Running', 'healthy', { request: 'request-1' }),
];

function newsOf({ context, tags, value }: ChartSnapshot) {
  const { view, settledKey } = context as unknown as LifecycleContext;
  const tenant = { ...view, machineId: view.machineId && ANOTHER_TENANCY };
  const isAsked = askedIn(value) !== 'idle' || settledKey !== null;
  const told = tags.has('working')
    ? TOLD_WHILE_BUSY
    : isAsked
      ? TOLD_WHILE_ASKED
      : [...VIEWS, tenant];
  return told.map((each) => ({ type: 'machine.observed', view: each }));
}

export const lifecycleSubject: Subject = {
  chart: lifecycle,
  input: { view: viewAt('Reserved', 'available') },
  events: newsOf,
  services: {
    awaitTurn: { done: [undefined], errors: [fault] },
    settleRequest: { done: ['request-1'], errors: [fault] },
    takeover: {
      kind: 'chart',
      done: results(
        viewAt('Running', 'awaitingHeartbeat'),
        viewAt('Provisioned', 'backingOff'),
        null,
      ),
      errors: [fault],
    },
    recovery: {
      kind: 'chart',
      done: results(
        viewAt('Provisioned', 'waiting', { next: 'agentStart' }),
        viewAt('Recovering', 'coolingDown'),
        null,
      ),
      errors: [fault],
    },
    deprovision: {
      kind: 'chart',
      done: results(viewAt('Reserved', 'available'), viewAt('Deprovisioning', 'deleting'), null),
      errors: [fault],
    },
  },
  actions: ['endTurn', 'countLeap'],
  keyOf: ({ context }) => {
    const { view, settledKey } = context as unknown as LifecycleContext;
    const { state, substate, next, machineId, request } = view;
    return [state, substate, next, machineId, view.holds.length > 0, request, settledKey];
  },
  transient: ['resyncing'],
  truth: lifecycleTruth,
};

export const sessionSubject: Subject = {
  chart: session,
  input: { intervalMs: 10_000 },
  services: {
    openSession: { done: ['session-1'], errors: [fault] },
    poke: { done: [undefined], errors: [fault, new SessionExpired('the row is gone')] },
    watchDeadline: { errors: [new SessionExpired('the deadline passed')] },
  },
  actions: ['reportPokeFailure'],
  keyOf: ({ context }) => (context['failure'] as { code: string } | null)?.code,
};

export const provisionerSubject: Subject = {
  chart: provisioner,
  input: { provider: 'stub', periodMs: 60_000 },
  services: {
    takeLease: { done: [undefined], errors: [new SessionExpired('too late')] },
    resolveIntents: step,
    listBoth: {
      done: [{ kind: 'listed' }, { kind: 'paused', pauseMs: 90_000, reason: 'slow down' }],
      errors: [fault],
    },
    planRound: { done: [0, 2], errors: [fault] },
    recordFindings: step,
    beginCreations: step,
  },
  actions: ['reportRound', 'reportPause', 'reportFailure'],
  keyOf: ({ context }) => context['planned'] === 0,
};

const lostLease = new LeaseLost('the job is of another daemon now');
const standing = { isPaused: false, generation: 0, failures: 0, retryAtMs: null };
const poolStep = { done: [undefined], errors: [fault, lostLease] };

export const balancerSubject: Subject = {
  chart: balancer,
  input: { pool: 'api', balancer: 'edge' },
  events: () =>
    (['members.changed', 'desired.changed', 'pool.pause', 'pool.resume', 'pool.stop'] as const).map(
      (type) => ({ type }),
    ),
  services: {
    takeLease: {
      done: [standing, { ...standing, isPaused: true }, { ...standing, failures: 2 }],
      errors: [lostLease],
    },
    observe: poolStep,
    check: { done: STAGES.map((stage) => ({ stage, againMs: null })), errors: [fault, lostLease] },
    recover: poolStep,
    destroy: poolStep,
    create: poolStep,
    poll: { done: ['ready', 'failed', 'pending'], errors: [fault, lostLease] },
    stepMembers: {
      done: [
        { isDesiredNew: false, restMs: 600_000 },
        { isDesiredNew: true, restMs: 600_000 },
      ],
      errors: [fault, lostLease],
    },
  },
  actions: ['reportSettled', 'reportFailure', 'reportStepFailure'],
  keyOf: ({ context }) => [context['isDesiredNew'], context['isStepDue'], context['isHurried']],
};

/** The guard of a fleet of one provider, found in this state. */
const findingsOf = (state: GuardState): GuardFindings => {
  const reason = state === 'watching' ? null : `it is ${state}`;
  const standings = [{ scope: 'fleet', state, sinceMs: null, reason }];
  return { rows: [], counts: [], standings };
};

export const guardSubject: Subject = {
  chart: guard,
  input: { assessMs: 5_000 },
  events: () => [{ type: 'guard.nudged' }],
  services: {
    assess: {
      done: (['grace', 'watching', 'suspicious', 'frozen', 'blind'] as const).map(findingsOf),
      errors: [fault],
    },
    settleGuardRequests: step,
  },
  actions: ['reportFindings', 'reportBlind', 'reportUnsettled'],
  keyOf: ({ context }) => context['again'],
};

export const fleetSubject: Subject = {
  chart: fleet,
  input: { sessionIntervalMs: 10_000, sessionRetryMs: 1_000, assessMs: 5_000 },
  events: () => [
    { type: 'fleet.stop' },
    { type: 'service.crashed', error: fault } as EventObject,
    { type: 'slots.changed', news: [] } as EventObject,
    { type: 'guard.nudged' },
  ],
  services: {
    session: {
      kind: 'chart',
      shows: [
        { value: 'opening' },
        { value: { alive: 'resting' }, tags: ['alive'] },
        { value: { alive: 'poking' }, tags: ['alive'] },
      ],
      done: [{ failure: null }, { failure: { code: 'session-expired', message: 'scripted' } }],
      errors: [fault],
    },
    guard: { kind: 'chart', done: [undefined], errors: [fault] },
    mirror: { kind: 'service', errors: [fault] },
    cellPool: { kind: 'service', errors: [fault] },
    provisioners: { kind: 'service', errors: [fault] },
    janitor: { kind: 'service', errors: [fault] },
    updater: { kind: 'service', errors: [fault] },
    balancers: { kind: 'service', errors: [fault] },
    drain: step,
    closeSession: step,
  },
  actions: ['reportSessionLoss', 'reportServiceCrash', 'reportGuardCrash', 'forgetGuard'],
  keyOf: ({ context }) => context['stopping'],
};
