import { once } from 'node:events';
import { loadFleet } from '../bmdb/fleet.ts';
import { ask, endChild, startChild } from './children.ts';
import type { BenchServer } from './database.ts';

export interface MirrorRequest {
  /** URL of a database with this many machines. */
  readonly url: string;
  /** 0: only the heap of a daemon without machines. */
  readonly machines: number;
  /** Duration of the heartbeats. */
  readonly spanMs: number;
}

export interface MirrorResult {
  /** From the daemon's start until every machine has an actor. */
  readonly mirroredSeconds: number;
  /** Total heap in use after a garbage collection. */
  readonly heapKb: number;
  /** Share of one core, with one heartbeat per machine and 30 s, without the database. */
  readonly cpuPercent: number;
  /** CPU time of one full scan beside the heartbeats. */
  readonly scanCpuSeconds: number;
  /** The 99th percentile of the event loop's delay, sampled each millisecond. */
  readonly loopDelayP99Ms: number;
  /** The longest block of the event loop, including a full scan. */
  readonly loopDelayMaxMs: number;
}

/**
 * A daemon in a separate process mirrors a fleet of started machines and takes their heartbeats.
 */
export async function measureMirroring(
  server: BenchServer,
  machines: number,
  spanMs: number,
): Promise<MirrorResult> {
  const database = await server.database();
  if (machines > 0)
    await database.query((sql) => loadFleet(sql, { free: 0, started: machines, others: 0 }));
  const child = startChild('mirror-child.ts', ['--max-old-space-size=8192']);
  const ended = once(child, 'close');
  try {
    return await ask(child, { url: database.url, machines, spanMs } satisfies MirrorRequest);
  } finally {
    endChild(child);
    await ended;
  }
}
