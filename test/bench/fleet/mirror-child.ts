import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { AnyActorRef } from 'xstate';
import { openMemAgents, type MemAgentServer } from '../../doubles/mem-agent-server.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import type { HeartbeatRecord } from '../../../src/domain/heartbeat.ts';
import { publicKeyOf } from '../bmdb/fleet.ts';
import { cpuMs, heapInUse } from '../measure.ts';
import { benchProvider } from './provider.ts';
import { startBenchDaemon } from './daemon.ts';
import type { MirrorRequest, MirrorResult } from './mirror.ts';

/**
 * A separate process, so that heap and CPU are a daemon's alone. It mirrors a fleet, then takes one
 * heartbeat per machine and period, written to the database, and reads the whole fleet once.
 */
const HEARTBEAT_PERIOD_MS = 30_000;
const SLICE_MS = 20;
/** Time in which a daemon without machines does everything once. */
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
  const provider = benchProvider(1);
  const daemon = await startBenchDaemon({
    url,
    dir,
    // Machines of unconfigured providers are mirrored, and nothing is done to them.
    config: {
      providers: { spare: { driver: 'memory', instanceSetId: provider.instanceSetId } },
      provisioner: { maxMachines: 1 },
    },
    played: () => ({
      drivers: provider.drivers,
      inspect: (event) => {
        if (event.type === '@xstate.actor' && (event.actorRef as AnyActorRef).id.includes('/'))
          actors += 1;
      },
      openAgentServer: async (_, { store }) => {
        const opened = openMemAgents({
          store,
          clock: systemClock,
          batch: { gapMs: 20, enough: 100, max: 500 },
        });
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
    const heapKb = heapInUse() / 1_024;
    if (machines === 0) return { mirroredSeconds, heapKb, ...NOTHING };
    const beats: HeartbeatRecord[] = [];
    for (const { row } of daemon.parts.mirror.facts().values()) {
      if (!row) continue;
      const { machineId: id } = row;
      beats.push({ machineId: id, publicKey: publicKeyOf(id), bootId: null });
    }
    await beat(beats, report!, HEARTBEAT_PERIOD_MS / 3);
    const scan = () => cutWakes(url);
    return { mirroredSeconds, heapKb, ...(await observe(beats, report!, { spanMs, scan })) };
  } finally {
    await daemon.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

const NOTHING = { cpuPercent: 0, scanCpuSeconds: 0, loopDelayP99Ms: 0, loopDelayMaxMs: 0 };

/** After lost wakes the daemon reads everything. */
async function cutWakes(url: string): Promise<void> {
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  await sql.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'shepherd wakes' AND datname = current_database()`,
  );
  await sql.end();
}

/** One span with heartbeats only, then one with a full read beside them. */
async function observe(
  beats: readonly HeartbeatRecord[],
  report: (beat: HeartbeatRecord) => Promise<unknown>,
  { spanMs, scan }: { readonly spanMs: number; readonly scan: () => Promise<void> },
) {
  const quiet = await spending(() => beat(beats, report, spanMs));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const scanned = await spending(async () => {
    await scan();
    await beat(beats, report, spanMs);
  });
  delay.disable();
  const share = quiet.cpuMs / quiet.ms;
  return {
    cpuPercent: 100 * share,
    scanCpuSeconds: (scanned.cpuMs - share * scanned.ms) / 1_000,
    loopDelayP99Ms: delay.percentile(99) / 1e6,
    loopDelayMaxMs: delay.max / 1e6,
  };
}

/** A task's duration and CPU time of this process. */
async function spending(task: () => Promise<void>) {
  const [beforeMs, fromMs] = [cpuMs(), performance.now()];
  await task();
  return { cpuMs: cpuMs() - beforeMs, ms: performance.now() - fromMs };
}

/** Spreads heartbeats over the period as evenly as machines with jitter do. */
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
