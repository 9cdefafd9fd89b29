import { hostname } from 'node:os';
import { Subject } from 'rxjs';
import { createBoard, type BoardChange } from '../actors/board.ts';
import { createDesk } from '../actors/desk.ts';
import { createMirror, type Mirror } from '../actors/mirror.ts';
import { createPermitQueue } from '../actors/permit-queue.ts';
import { createSessionKeeper } from '../actors/session-keeper.ts';
import type { Log } from '../adapters/log/port.ts';
import { lossPolicyOf } from '../config.ts';
import { codeOf, Denied, explain } from '../domain/errors.ts';
import {
  agentFile,
  openAgentServer,
  openBmdb,
  openProviders,
  openShell,
  type Means,
} from './adapters.ts';

/** Everything a daemon is made of, but the supervisor and the console. */
export type Parts = Awaited<ReturnType<typeof openParts>>;

/**
 * Opens the parts from the leaves up; the closer of `means` closes them again.
 * @throws {FleetError} what is wrong with configuration, database, provider or port.
 */
export async function openParts(means: Means) {
  const { config, tuning, clock, log, metrics } = means;
  const file = await agentFile(config);
  const { key, shell } = await openShell(means);
  const providers = openProviders(means, key);
  const bmdb = await openBmdb(means);
  await prepareProviders(providers, log);
  const keeper = createSessionKeeper({
    bmdb,
    component: 'shepherd',
    runtimeInfo: `host ${hostname() || 'UNKNOWN'}`,
    log: log.child({ component: 'session' }),
  });
  const isReady = () => keeper.current() !== null;
  const { server, protocol } = await openAgentServer(means, bmdb.heartbeats, isReady);
  const changes = new Subject<BoardChange>();
  const board = createBoard({ nowMs: () => mirror.nowMs(), metrics, changes });
  const permits = createPermitQueue(config.guard);
  const mirror: Mirror = createMirror({
    bmdb,
    providers,
    heard$: server.heard$,
    loss: lossPolicyOf(config),
    scanMs: config.mirror.scanInterval,
    scanGapMs: tuning.scanGapMs,
    // Sessions die without a wake, so changes are asked for even where wakes come.
    pollMs: config.mirror.pollInterval,
    listMs: config.mirror.listInterval,
    clock,
    random: means.random,
    log: log.child({ component: 'mirror' }),
    onFacts: permits.offer,
    onView: board.onView,
    onVanished: board.onVanished,
  });
  const desk = createDesk({
    places: {
      agentStart: config.initializer.loopParallelism,
      recovery: config.recoverer.loopParallelism,
    },
    unusedMs: tuning.turnUnusedMs,
    clock,
    log: log.child({ component: 'desk' }),
  });
  return {
    file,
    shell,
    providers,
    bmdb,
    keeper,
    server,
    protocol,
    changes,
    board,
    permits,
    mirror,
    desk,
  };
}

/** A refused token is a mistake to be mended now; a provider that does not answer may come back. */
async function prepareProviders(
  providers: ReturnType<typeof openProviders>,
  log: Log,
): Promise<void> {
  const signal = AbortSignal.timeout(30_000);
  for (const [name, provider] of providers) {
    try {
      await provider.prepare?.({ signal });
    } catch (error) {
      if (['unreachable', 'timed-out', 'cancelled', 'throttled'].includes(codeOf(error))) {
        log.warn({ provider: name, cause: explain(error) }, 'the provider does not answer yet');
      } else if (codeOf(error) === 'denied') {
        const mend = `check providers.${name}.token and the project it is for`;
        throw new Denied(`provider ${name} refused our token; ${mend}`, { cause: error });
      } else {
        throw error;
      }
    }
  }
}
