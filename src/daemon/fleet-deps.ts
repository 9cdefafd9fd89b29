import { replacementBar } from './planning.ts';
import { JANITOR_KINDS } from '../adapters/metrics/port.ts';
import { ladderOf, machinesMaxOf, policyOf, retirementOf, targetOf, windowsOf } from '../config.ts';
import type { ProvideDeps } from '../actors/provide.ts';
import type { DaemonParts } from './parts.ts';

type Watching = Pick<ProvideDeps, 'inspectCell' | 'inspectRoot'>;

/** Dependencies of the charts' services: the parts, and each service's own. */
export function fleetDeps(parts: DaemonParts, watching: Watching): ProvideDeps {
  const { config, tuning, mirror, providers, watch, server } = parts;
  const { nowMs, facts, sessions } = mirror;
  const { provisioner } = config;
  const all = { ...parts, nowMs, facts };
  const logOf = (component: string) => parts.log.child({ component });
  const tasks = {
    ...all,
    log: logOf('tasks'),
    cases: parts.bmdb.cases,
    ssh: { port: config.ssh.port, policyOf: (name: string) => policyOf(config, name) },
    agentPath: config.agent.targetPath,
  };
  return {
    ...all,
    ...watching,
    onShown: parts.board.onShown,
    agentStart: {
      ...tasks,
      agent: { file: parts.files, targetPath: config.agent.targetPath },
      backoff: config.initializer.backoff,
    },
    recover: {
      ...tasks,
      backoff: config.recoverer.backoff,
      ladder: (provider) => ladderOf(config, provider),
      retirement: (provider) => retirementOf(config, provider),
      pollMs: config.recoverer.pollInterval,
      askAgainMs: tuning.askAgainMs,
    },
    deprovision: { ...tasks, pollMs: tuning.deprovisionPollMs },
    provision: {
      ...all,
      log: logOf('provisioner'),
      assimilate: provisioner.assimilate,
      onPlan: parts.planner.take,
      limits: {
        machinesMax: provisioner.maxMachines,
        machinesMaxOf: new Map(
          [...providers.keys()].map((name) => [name, machinesMaxOf(config, name)]),
        ),
        replacementBar: replacementBar(windowsOf(config)),
        targetOf: new Map(
          [...providers.keys()].flatMap((name) => {
            const target = targetOf(config, name);
            return target ? [[name, target] as const] : [];
          }),
        ),
        chunkSize: provisioner.reservationChunkSize,
        creationGapMs: provisioner.deviceCreationRate,
        parallelism: provisioner.concurrentCreations,
        placeWaitMs: provisioner.reconcilerRate,
        creationMs: provisioner.creationTimeout,
        penaltyMs: provisioner.penalty,
        abandonMs: tuning.abandonMs,
      },
    },
    update: { ...all, log: logOf('updater') },
    balance: {
      ...all,
      isKnown: () => mirror.lastScanAt() !== null && watch.view().state !== 'blind',
      leases: parts.balancerLeases,
      log: logOf('balancing'),
      board: parts.poolsBoard,
      onPools: (callback) => {
        const subscription = parts.poolChanges.subscribe(callback);
        return () => subscription.unsubscribe();
      },
    },
    turns: { ...all, sessions, headStartMs: tuning.headStartMs, setbackMaxMs: tuning.setbackMaxMs },
    guard: {
      ...all,
      isTakingIn: server.isTakingIn,
      headStartMs: tuning.headStartMs,
      log: logOf('guard'),
    },
    sweep: () => sweep(parts),
    closeIntake: () => server.close(tuning.agentServerGraceMs),
    log: logOf('supervisor'),
    periods: {
      sweepMs: tuning.sweepMs,
      updateMs: config.mirror.listInterval,
      reconcileMs: provisioner.reconcilerRate,
      drainMs: tuning.drainMs,
    },
  };
}

/** Removes leftovers of dead sessions. */
async function sweep({ bmdb, log, metrics, mirror }: DaemonParts): Promise<void> {
  const swept = await bmdb.sweep();
  const { sessions: session, work, permits: permit, history } = swept;
  const removed = { session, work, permit, history };
  for (const kind of JANITOR_KINDS) {
    metrics.count('shepherd_janitor_removed_total', { kind }, removed[kind]);
    const seconds = mirror.nowMs() / 1_000;
    metrics.set('shepherd_janitor_last_success_timestamp_seconds', { kind }, seconds);
  }
  if (swept.sessions > 0) log.info({ ...swept }, 'dead sessions swept');
}
