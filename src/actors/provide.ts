import {
  createActor,
  fromCallback,
  fromPromise,
  type AnyEventObject,
  type InspectionEvent,
} from 'xstate';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import { ALL_ROLES, needsMirror, type DaemonRoles } from '../domain/daemons.ts';
import type { Slot } from '../domain/ids.ts';
import { cell } from '../machines/cell.ts';
import { fleet, sessionPauseMs, type FleetEvent } from '../machines/fleet.ts';
import { deprovision } from '../machines/deprovision.ts';
import { lifecycle } from '../machines/lifecycle.ts';
import { provisioner } from '../machines/provisioner.ts';
import { recovery } from '../machines/recovery.ts';
import { session } from '../machines/session.ts';
import type { Shown } from '../machines/shown.ts';
import { agentStart } from '../machines/agent-start.ts';
import type { Job } from '../machines/task.ts';
import type { MachineView } from '../domain/view.ts';
import { cellPool, type CellHooks, type MachineFinder } from './cell-pool.ts';
import { deprovisionServices, type DeprovisionDeps } from './tasks/deprovision.ts';
import {
  awaitTurn,
  createOrphanWatch,
  applyRequest,
  type AwaitTurnDeps,
  type TaskPool,
} from './turns/turns.ts';
import { every, runOf, type Loops } from './loops.ts';
import { provideGuard, type GuardDeps } from './guard/provide-guard.ts';
import type { Mirror } from './mirror/mirror.ts';
import { provisionerJob } from './leases.ts';
import type { ProvisionDeps } from './provisioning/deps.ts';
import { createProvisioning, type Provisioning } from './provisioning/services.ts';
import { recoveryServices, type RecoverDeps } from './tasks/recovery/services.ts';
import type { SessionKeeper } from './session-keeper.ts';
import { agentStartServices, type AgentStartDeps } from './tasks/agent-start.ts';
import { balancers, type BalancersDeps } from './balancing/balancers.ts';
import { createUpdater, type UpdaterDeps } from './provisioning/updater.ts';

export interface ProvideDeps {
  readonly agentStart: AgentStartDeps;
  readonly recover: RecoverDeps;
  readonly deprovision: DeprovisionDeps;
  readonly provision: ProvisionDeps;
  readonly update: UpdaterDeps;
  readonly balance: BalancersDeps;
  readonly turns: AwaitTurnDeps;
  readonly guard: GuardDeps;
  readonly taskPool: TaskPool;
  readonly keeper: SessionKeeper;
  readonly mirror: Mirror;
  /** Removes leftovers of dead sessions. */
  readonly sweep: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Receives the results of all repeated activities. */
  readonly loops: Loops;
  readonly periods: {
    readonly sweepMs: number;
    readonly updateMs: number;
    readonly reconcileMs: number;
    /** Work under way may take this long to end at a stop. */
    readonly drainMs: number;
  };
  /** The roles of this daemon; absent: all. */
  readonly roles?: DaemonRoles | undefined;
  /** Stops the reception of heartbeats while a session can still store them. */
  readonly closeIntake?: (() => Promise<void>) | undefined;
  /** Called with the states that machines' actors show. */
  readonly onShown: (shown: Shown) => void;
  /** Lets observers find the machines' actors. */
  readonly finder?: MachineFinder;
  /** Observers of each cell's actor system; undefined adds no cost. */
  readonly inspectCell: (cellId: string) => ((event: InspectionEvent) => void) | undefined;
  /** Observer of the provisioners' actor systems. */
  readonly inspectRoot: ((event: InspectionEvent) => void) | undefined;
}

/** The only place where charts get their services: provides every service of every chart. */
export function provideFleet(deps: ProvideDeps) {
  const { keeper, log, mirror, taskPool, clock, periods, metrics } = deps;
  const provisioning = createProvisioning(deps.provision);
  const { roles = ALL_ROLES } = deps;
  const hasLoops = roles.has('loops');
  return fleet.provide({
    actors: {
      session: provideSession(deps),
      guard: provideGuard({ ...deps.guard, isApplying: hasLoops }),
      mirror: needsMirror(roles) ? mirror.service : nobody(),
      cellPool: hasLoops
        ? cellPool({
            createCell: (hooks) => provideCell(deps, hooks),
            clock,
            log,
            dropWork: taskPool.end,
            releaseWork: async ({ machineId }) => {
              if (machineId) await keeper.current()?.releaseWork(machineId);
            },
            onCrash: (slot, err) => {
              metrics.count('shepherd_actor_crashes_total', {});
              log.error(
                { err, slot },
                "a machine's actor crashed; it restarts from the rows of the BMDB",
              );
            },
            onShown: deps.onShown,
            ...(deps.finder && { finder: deps.finder }),
            onMismatch: ({ slot, state }) => {
              metrics.count('shepherd_state_mismatch_total', {});
              log.error(
                { slot, rows: state },
                "a machine's actor and its rows show different states",
              );
            },
            inspect: deps.inspectCell,
          })
        : nobody(),
      provisioners: hasLoops ? provisioners(deps, provisioning) : nobody(),
      janitor:
        roles.has('janitor') || hasLoops
          ? every(periods.sweepMs, deps, sweeping(deps, roles), 'the sweep failed')
          : nobody(),
      balancers: roles.has('balancer')
        ? balancers({ ...deps.balance, inspect: deps.inspectRoot })
        : nobody(),
      updater: hasLoops
        ? every(periods.updateMs, deps, updating(deps), 'the update failed')
        : nobody(),
      drain: fromPromise(async () => {
        await Promise.all([taskPool.drain(periods.drainMs), provisioning.drain(periods.drainMs)]);
        await deps.closeIntake?.();
      }),
      closeSession: fromPromise(async () => {
        await keeper.close().catch((err: unknown) => {
          log.warn({ err }, 'the session could not be closed; it ends at its deadline');
        });
      }),
    },
    actions: {
      reportSessionLoss: (_, { failure }) => {
        metrics.count('shepherd_session_expired_total', { processor: 'shepherd' });
        log.error(
          { code: failure?.code, cause: failure?.message },
          'the session was lost or could not be opened; work stops until a new session is open',
        );
      },
      reportServiceCrash: (_, { error }) => {
        metrics.count('shepherd_service_crashes_total', { service: 'supervisor' });
        log.error({ err: error }, 'a service of the supervisor crashed; all services are rebuilt');
      },
      forgetGuard: () => deps.guard.watch.lose(),
      reportGuardCrash: (_, { error }) => {
        metrics.count('shepherd_service_crashes_total', { service: 'guard' });
        log.error({ err: error }, 'the guard crashed; only the guard is rebuilt');
      },
    },
    delays: {
      // Spreads the return of daemons that lost their sessions together.
      sessionRetry: ({ context }) =>
        sessionPauseMs(context) * (0.8 + 0.4 * deps.turns.random.next()),
    },
  });
}

/** Replaces a service of another role. */
const nobody = <Received extends AnyEventObject>() => fromCallback<Received, void>(() => undefined);

/**
 * Removes leftovers of dead sessions, as the janitor. Where machines are worked on, it also returns
 * work of our own session without a task, because no other process may while we live.
 */
function sweeping(deps: ProvideDeps, roles: DaemonRoles) {
  const releaseOrphans = createOrphanWatch(deps);
  return async (signal: AbortSignal) => {
    if (roles.has('janitor')) await deps.sweep(signal);
    if (roles.has('loops')) await releaseOrphans(deps.mirror.facts());
  };
}

function updating(deps: ProvideDeps) {
  const loop = deps.loops.of('update', deps.periods.updateMs);
  const update = createUpdater(deps.update);
  return (signal: AbortSignal) => runOf(loop, () => update(signal));
}

const provideSession = ({ keeper, log }: ProvideDeps) =>
  session.provide({
    actors: keeper.services,
    actions: {
      reportPokeFailure: (_, { error }) =>
        log.warn({ err: error }, 'the session could not be extended yet'),
    },
  });

function provideCell(deps: ProvideDeps, hooks: CellHooks) {
  return cell.provide({
    actors: { lifecycle: provideLifecycle(deps) },
    actions: {
      reportCrash: (_, { actorId, error }) => hooks.onCrash(actorId as Slot, error),
      reportEnd: (_, { actorId }) => hooks.onEnd(actorId as Slot),
    },
  });
}

/** Also for tests that run one machine. */
function provideLifecycle(deps: Omit<ProvideDeps, 'provision' | 'update' | 'balance' | 'loops'>) {
  const { taskPool, log, mirror } = deps;
  const reread = fromPromise<MachineView | null, Job>(({ input, signal }) =>
    mirror.reread(input, signal),
  );
  return lifecycle.provide({
    actors: {
      awaitTurn: awaitTurn(deps.turns),
      applyRequest: applyRequest({ ...deps.turns, log }),
      agentStart: agentStart.provide({
        actors: { ...agentStartServices(deps.agentStart), reread },
      }),
      recovery: recovery.provide({ actors: { ...recoveryServices(deps.recover), reread } }),
      deprovision: deprovision.provide({
        actors: { ...deprovisionServices(deps.deprovision), reread },
      }),
    },
    actions: {
      endTurn: (_, { slot }) => taskPool.end(slot),
      countLeap: (_, { view }) =>
        log.debug(
          { slot: view.slot, state: view.state, substate: view.substate },
          'the machine is in a state that does not follow from the last one seen',
        ),
    },
  });
}

/** One root actor per provider: a crash is reported and does not affect the others. */
function provisioners(deps: ProvideDeps, { services, report }: Provisioning) {
  const { clock, log, provision, periods, inspectRoot } = deps;
  const loops = new Map(
    [...provision.providers.keys()].map((name) => [
      name,
      deps.loops.of(`provisioner ${name}`, periods.reconcileMs, provisionerJob(name)),
    ]),
  );
  const logic = provisioner.provide({
    actors: services,
    actions: {
      reportRound: (_, { provider }) => {
        loops.get(provider)?.succeeded();
        report(provider);
      },
      reportPause: (_, { provider, listed }) => {
        loops.get(provider)?.succeeded();
        log.warn({ provider, ...listed }, PAUSED);
      },
      reportFailure: (_, { provider, error }) => {
        loops.get(provider)?.failed(error);
        log.warn({ err: error, provider }, 'the provisioner failed and retries later');
      },
    },
  });
  return fromCallback<FleetEvent, void>(({ sendBack }) => {
    const refs = [...provision.providers.keys()].map((provider) => {
      const ref = createActor(logic, {
        id: `provisioner-${provider}`,
        clock,
        input: { provider, periodMs: periods.reconcileMs },
        ...(inspectRoot && { inspect: inspectRoot }),
      });
      ref.subscribe({ error: (error) => sendBack({ type: 'service.crashed', error }) });
      return ref.start();
    });
    return () => {
      for (const ref of refs) ref.stop();
      void provision.leases.releaseAll();
    };
  });
}

const PAUSED = 'no call goes to the provider for a while';
