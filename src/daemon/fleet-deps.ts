import { JANITOR_KINDS } from '../adapters/metrics/port.ts';
import { ladderOf, machinesMaxOf, policyOf } from '../config.ts';
import type { ProvideDeps } from '../actors/provide.ts';
import type { TaskDeps } from '../actors/tasks/task.ts';
import type { Means } from './ports.ts';
import type { Parts } from './parts.ts';

type Watching = Pick<ProvideDeps, 'inspectCell' | 'inspectRoot'>;

/** What the charts are filled with, from parts and configuration. */
export function fleetDeps(means: Means, parts: Parts, watching: Watching): ProvideDeps {
  const { config, tuning, clock, random, log, metrics } = means;
  const { bmdb, keeper, taskPool, mirror, providers, permits, holds, leases, listings } = parts;
  const { watch, server } = parts;
  const tasks: TaskDeps = {
    taskPool,
    keeper,
    providers,
    clock,
    metrics,
    shell: parts.shell,
    log: log.child({ component: 'tasks' }),
    ssh: { port: config.ssh.port, policyOf: (name) => policyOf(config, name) },
  };
  return {
    ...watching,
    onShown: parts.board.onShown,
    finder: parts.finder,
    takeOver: {
      ...tasks,
      agent: { file: parts.files, targetPath: config.agent.targetPath },
      protocol: parts.protocol,
      backoff: config.initializer.backoff,
    },
    recover: {
      ...tasks,
      holds,
      permits,
      random,
      nowMs: mirror.nowMs,
      backoff: config.recoverer.backoff,
      facts: mirror.facts,
      ladder: (provider) => ladderOf(config, provider),
      agentPath: config.agent.targetPath,
      pollMs: config.recoverer.pollInterval,
      askAgainMs: tuning.askAgainMs,
    },
    deprovision: {
      ...tasks,
      random,
      holds,
      nowMs: mirror.nowMs,
      pollMs: tuning.deprovisionPollMs,
      agentPath: config.agent.targetPath,
    },
    provision: {
      bmdb,
      mirror,
      keeper,
      leases,
      holds,
      listings,
      nowMs: mirror.nowMs,
      providers,
      clock,
      metrics,
      log: log.child({ component: 'provisioner' }),
      assimilate: config.provisioner.assimilate,
      onPlan: parts.planner.take,
      limits: {
        machinesMax: config.provisioner.maxMachines,
        machinesMaxOf: new Map(
          [...providers.keys()].map((name) => [name, machinesMaxOf(config, name)]),
        ),
        chunkSize: config.provisioner.reservationChunkSize,
        creationGapMs: config.provisioner.deviceCreationRate,
        parallelism: config.provisioner.concurrentCreations,
        placeWaitMs: config.provisioner.reconcilerRate,
        creationMs: config.provisioner.creationTimeout,
        penaltyMs: config.provisioner.penalty,
        abandonMs: tuning.abandonMs,
      },
    },
    update: {
      keeper,
      leases,
      listings,
      holds,
      providers,
      clock,
      random,
      facts: mirror.facts,
      nowMs: mirror.nowMs,
      log: log.child({ component: 'updater' }),
    },
    balance: {
      pools: parts.pools,
      balancers: parts.balancers,
      mirror,
      isKnown: () => mirror.lastScanAt() !== null && watch.view().state !== 'blind',
      wishes: parts.wishes,
      keeper,
      leases: parts.balancerLeases,
      nowMs: mirror.nowMs,
      clock,
      random,
      log: log.child({ component: 'balancing' }),
      metrics,
      board: parts.poolsBoard,
      onPools: (callback) => {
        const subscription = parts.poolChanges.subscribe(callback);
        return () => subscription.unsubscribe();
      },
    },
    turns: {
      taskPool,
      keeper,
      permits,
      sessions: mirror.sessions,
      facts: mirror.facts,
      headStartMs: tuning.headStartMs,
      setbackMaxMs: tuning.setbackMaxMs,
      clock,
      random,
    },
    guard: {
      bmdb,
      keeper,
      mirror,
      watch,
      isTakingIn: server.isTakingIn,
      headStartMs: tuning.headStartMs,
      log: log.child({ component: 'guard' }),
    },
    taskPool,
    keeper,
    mirror,
    sweep: async () => {
      const swept = await bmdb.sweep();
      const { sessions: session, work, permits: permit, history } = swept;
      const removed = { session, work, permit, history };
      for (const kind of JANITOR_KINDS) {
        metrics.count('shepherd_janitor_removed_total', { kind }, removed[kind]);
        const seconds = mirror.nowMs() / 1_000;
        metrics.set('shepherd_janitor_last_success_timestamp_seconds', { kind }, seconds);
      }
      if (swept.sessions > 0) log.info({ ...swept }, 'dead sessions swept');
    },
    clock,
    metrics,
    loops: parts.loops,
    roles: parts.roles,
    closeIntake: () => server.close(tuning.agentServerGraceMs),
    log: log.child({ component: 'supervisor' }),
    periods: {
      sweepMs: tuning.sweepMs,
      updateMs: config.mirror.listInterval,
      reconcileMs: config.provisioner.reconcilerRate,
      drainMs: tuning.drainMs,
    },
  };
}
