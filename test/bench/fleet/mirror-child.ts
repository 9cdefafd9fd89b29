import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { AnyActorRef } from 'xstate';
import { openMemAgents, type MemAgentServer } from '../../doubles/mem-agent-server.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import type { HeartbeatRecord } from '../../../src/domain/heartbeat.ts';
import { machineId } from '../../../src/domain/ids.ts';
import { publicKeyOf } from '../bmdb/fleet.ts';
import { startBenchDaemon } from './daemon.ts';
import type { MirrorRequest, MirrorResult } from './mirror.ts';

/**
 * A process of its own, so that heap and CPU are a daemon's alone: mirrors a fleet, then takes one
 * heartbeat of each machine per period, written to the database.
 */
const HEARTBEAT_PERIOD_MS = 30_000;
const SLICE_MS = 20;
/** For a daemon without machines to have done everything once. */
const SETTLE_MS = 3_000;
const MIRROR_LIMIT_MS = 300_000;

process.once('message', (request) => {
  void run(request as MirrorRequest).then((result) => {
    process.send!(result);
    process.disconnect();
  });
});

async function run({ url, machines, spanMs }: MirrorRequest): Promise<MirrorResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-mirror-'));
  let actors = 0;
  let report: MemAgentServer['report'] | undefined;
  const startedMs = performance.now();
  const daemon = await startBenchDaemon({
    url,
    dir,
    // Machines of providers that are not configured are mirrored, and nothing is done to them.
    config: {
      providers: {
        spare: {
          driver: 'stub',
          instanceSetId: 'bench-fleet-000000000000001',
          plans: [{ name: 'bench', reservations: 1 }],
        },
      },
      provisioner: { maxMachines: 1 },
    },
    played: () => ({
      inspect: (event) => {
        if (event.type === '@xstate.actor' && (event.actorRef as AnyActorRef).id.includes('/'))
          actors += 1;
      },
      openAgentServer: async (_, { store }) => {
        const opened = openMemAgents({ store, clock: systemClock, batch: { maxMs: 20, max: 500 } });
        ({ report } = opened.server);
        return opened;
      },
    }),
  });
  try {
    while (actors < machines) {
      if (performance.now() - startedMs > MIRROR_LIMIT_MS) throw new Error('it never mirrored all');
      await pause(SLICE_MS);
    }
    const mirroredSeconds = (performance.now() - startedMs) / 1_000;
    if (machines === 0) await pause(SETTLE_MS);
    const heapKb = usedBytes() / 1_024;
    if (machines === 0) return { mirroredSeconds, heapKb, cpuPercent: 0, loopDelayP99Ms: 0 };
    const rows = await daemon.bmdb.scan(AbortSignal.timeout(120_000));
    const beats = rows.machines.map(({ machineId: id }): HeartbeatRecord => ({
      machineId: machineId(id),
      publicKey: publicKeyOf(id),
      bootId: null,
    }));
    await beat(beats, report!, HEARTBEAT_PERIOD_MS / 3);
    return { mirroredSeconds, heapKb, ...(await observe(beats, report!, spanMs)) };
  } finally {
    await daemon.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Bytes of the heap that are really in use. */
function usedBytes(): number {
  globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

async function observe(
  beats: readonly HeartbeatRecord[],
  report: (beat: HeartbeatRecord) => Promise<unknown>,
  spanMs: number,
) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const before = process.cpuUsage();
  const fromMs = performance.now();
  delay.enable();
  await beat(beats, report, spanMs);
  delay.disable();
  const { user, system } = process.cpuUsage(before);
  return {
    cpuPercent: (user + system) / 10 / (performance.now() - fromMs),
    loopDelayP99Ms: delay.percentile(99) / 1e6,
  };
}

/** Heartbeats as evenly as machines with jitter send them, round the fleet. */
async function beat(
  beats: readonly HeartbeatRecord[],
  report: (beat: HeartbeatRecord) => Promise<unknown>,
  forMs: number,
): Promise<void> {
  const startMs = performance.now();
  const open = new Set<Promise<unknown>>();
  let sent = 0;
  for (let nowMs = startMs; nowMs - startMs < forMs; nowMs = performance.now()) {
    const due = Math.floor(((nowMs - startMs) / HEARTBEAT_PERIOD_MS) * beats.length);
    for (; sent < due; sent++) {
      const call = report(beats[sent % beats.length]!).finally(() => open.delete(call));
      open.add(call);
    }
    await pause(SLICE_MS);
  }
  await Promise.all(open);
}
