import { createHash } from 'node:crypto';
import type { Observable } from 'rxjs';
import type { SchedulerLike } from 'rxjs';
import { createActor, toPromise } from 'xstate';
import { createDesk } from '../../src/actors/turns/desk.ts';
import { createGuardWatch } from '../../src/actors/guard/watch.ts';
import { createMirror, type Mirror } from '../../src/actors/mirror/mirror.ts';
import { createPermitQueue } from '../../src/actors/turns/permit-queue.ts';
import { provideFleet, type ProvideDeps } from '../../src/actors/provide.ts';
import { createSessionKeeper } from '../../src/actors/session-keeper.ts';
import type { Heard } from '../../src/adapters/agents/port.ts';
import { createTakeoverProtocol } from '../../src/adapters/agents/takeover-protocol.ts';
import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Clock, Random } from '../../src/adapters/clock/port.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import type { Metrics } from '../../src/adapters/metrics/port.ts';
import type { FleetProvider } from '../../src/adapters/provider/port.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import type { LadderPolicy } from '../../src/domain/recovery/ladder.ts';
import type { ProviderName } from '../../src/domain/ids.ts';
import type { Pace } from './pace.ts';
import { provisionParts } from '../support/provision-parts.ts';

export const AGENT_PATH = '/root/agent';
const AGENT = Buffer.from('the agent');

/** What a daemon is built over. */
export interface DaemonWorld {
  readonly bmdb: Bmdb;
  readonly providers: ReadonlyMap<ProviderName, FleetProvider>;
  readonly shell: RemoteShell;
  readonly heard$: Observable<Heard>;
  /** A heartbeat that came now would be recorded. */
  readonly isTakingIn: () => boolean;
  readonly clock: Clock;
  readonly scheduler?: SchedulerLike;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Names the daemon in its sessions. */
  readonly name: string;
  readonly pace: Pace;
}

export type RunningDaemon = ReturnType<typeof startDaemon>;

/** The real supervisor with all its parts, over whatever world is given. */
export function startDaemon(world: DaemonWorld) {
  const { clock, pace } = world;
  const deps = partsOf(world);
  const actor = createActor(provideFleet(deps), {
    clock,
    input: {
      sessionIntervalMs: pace.sessionIntervalMs,
      sessionRetryMs: pace.sessionRetryMs,
      assessMs: pace.guard.assessMs,
    },
  });
  const stopped = toPromise(actor);
  actor.start();
  return {
    keeper: deps.keeper,
    mirror: deps.mirror,
    desk: deps.desk,
    /** Resolves when it has stopped; rejects when the supervisor crashed. */
    stopped,
    /** Ends work in time or cancels it, and closes the session. */
    stop: () => actor.send({ type: 'fleet.stop' }),
    /** Ends it as a crash would: nothing is said to the database any more. */
    die: () => actor.stop(),
  };
}

function partsOf(world: DaemonWorld): ProvideDeps {
  const { bmdb, providers, clock, random, log, metrics, pace } = world;
  const watch = createGuardWatch({
    policy: pace.guard,
    heartbeatMs: pace.loss.heartbeatMs,
    clock,
    metrics,
    log,
    nowMs: () => mirror.nowMs(),
    onChange: () => permits.reconsider(),
  });
  const permits = createPermitQueue({ budget: pace.budget, barOf: watch.barOf });
  const mirror: Mirror = createMirror({
    bmdb,
    providers,
    clock,
    random,
    log,
    heard$: world.heard$,
    loss: pace.loss,
    scanMs: pace.scanMs,
    scanGapMs: pace.scanGapMs,
    pollMs: null,
    listMs: pace.listMs,
    ...(world.scheduler && { scheduler: world.scheduler }),
    onFacts: permits.offer,
    onView: () => undefined,
    onVanished: () => undefined,
  });
  const keeper = createSessionKeeper({ bmdb, log, component: 'shepherd', runtimeInfo: world.name });
  const places = { agentStart: pace.places, recovery: pace.places, deprovision: pace.places };
  const desk = createDesk({ places, unusedMs: 5_000, clock, log });
  const tasks = {
    desk,
    keeper,
    providers,
    shell: world.shell,
    clock,
    metrics,
    log,
    ssh: { port: 22, policyOf: () => 'tofu' as const },
  };
  const parts = provisionParts({
    bmdb,
    keeper,
    providers,
    clock,
    random,
    log,
    metrics,
    holdRows: mirror.providerHolds,
    facts: mirror.facts,
    nowMs: mirror.nowMs,
    limits: { parallelism: 1 },
    maxAgeMs: pace.listMs / 2,
  });
  return {
    takeOver: {
      ...tasks,
      agent: {
        file: { content: AGENT, sha256: sha256(AGENT), mode: 0o755 },
        targetPath: AGENT_PATH,
      },
      protocol: createTakeoverProtocol({
        endpoint: '192.0.2.100:7000',
        caCertificate: new Uint8Array(0),
      }),
      backoff: pace.backoff,
    },
    recover: {
      ...tasks,
      holds: parts.holds,
      random,
      nowMs: mirror.nowMs,
      backoff: pace.backoff,
      facts: mirror.facts,
      agentPath: AGENT_PATH,
      pollMs: pace.pollMs,
      askAgainMs: pace.askAgainMs,
      ladder: () => rebootsAlone(pace.patienceMs),
    },
    deprovision: parts.deprovision(tasks),
    provision: parts.provision,
    update: parts.update,
    turns: {
      desk,
      keeper,
      permits,
      clock,
      random,
      sessions: mirror.sessions,
      facts: mirror.facts,
      headStartMs: pace.headStartMs,
    },
    guard: {
      bmdb,
      keeper,
      mirror,
      watch,
      log,
      headStartMs: pace.headStartMs,
      isTakingIn: world.isTakingIn,
    },
    desk,
    keeper,
    mirror,
    clock,
    log,
    metrics,
    sweep: async () => {
      await bmdb.sweep();
    },
    periods: {
      sweepMs: pace.sweepMs,
      updateMs: pace.listMs,
      reconcileMs: 60_000,
      drainMs: pace.drainMs,
    },
    inspectCell: () => undefined,
  };
}

/** The machines here know no other way back. */
const rebootsAlone = (patienceMs: number): LadderPolicy => {
  const none = { attempts: 0, patienceMs };
  const rebooting = { attempts: 3, patienceMs };
  return { restartingAgent: none, rebooting, powerCycling: none, reinstalling: none };
};

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
