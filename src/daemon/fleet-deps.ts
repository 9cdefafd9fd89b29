import type { ProvideDeps } from '../actors/provide.ts';
import type { TaskDeps } from '../actors/take-over.ts';
import type { Means } from './adapters.ts';
import type { Parts } from './parts.ts';

type Watching = Pick<ProvideDeps, 'inspectCell' | 'inspectRoot'>;

/** Devices that one provisioner asks for at once. */
const CREATIONS_AT_ONCE = 3;

/** What the charts are filled with, from parts and configuration. */
export function fleetDeps(means: Means, parts: Parts, watching: Watching): ProvideDeps {
  const { config, tuning, clock, random, log, metrics } = means;
  const { bmdb, keeper, desk, mirror, providers, permits } = parts;
  const tasks: TaskDeps = {
    desk,
    keeper,
    providers,
    clock,
    metrics,
    shell: parts.shell,
    log: log.child({ component: 'tasks' }),
    ssh: { port: config.ssh.port, policy: config.ssh.hostKeyPolicy },
  };
  return {
    ...watching,
    takeOver: {
      ...tasks,
      agent: { file: parts.file, targetPath: config.agent.targetPath },
      protocol: parts.protocol,
      backoff: config.initializer.backoff,
    },
    recover: {
      ...tasks,
      random,
      nowMs: mirror.nowMs,
      backoff: config.recoverer.backoff,
      patienceMs: config.recoverer.rebootPatience,
      pollMs: config.recoverer.pollInterval,
      askAgainMs: tuning.askAgainMs,
    },
    provision: {
      bmdb,
      keeper,
      providers,
      clock,
      log: log.child({ component: 'provisioner' }),
      limits: {
        machinesMax: config.provisioner.maxMachines,
        chunkSize: config.provisioner.reservationChunkSize,
        creationGapMs: config.provisioner.deviceCreationRate,
        parallelism: CREATIONS_AT_ONCE,
        penaltyMs: config.provisioner.penalty,
        abandonMs: tuning.abandonMs,
      },
    },
    turns: {
      desk,
      keeper,
      permits,
      sessions: mirror.sessions,
      facts: mirror.facts,
      headStartMs: tuning.headStartMs,
      clock,
      random,
    },
    desk,
    keeper,
    mirror,
    sweep: async () => {
      const swept = await bmdb.sweep();
      if (swept.sessions > 0) log.info({ ...swept }, 'dead sessions swept');
    },
    clock,
    metrics,
    log: log.child({ component: 'supervisor' }),
    periods: {
      sweepMs: tuning.sweepMs,
      updateMs: config.mirror.listInterval,
      reconcileMs: config.provisioner.reconcilerRate,
      drainMs: tuning.drainMs,
    },
  };
}
