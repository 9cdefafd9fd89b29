import { once } from 'node:events';
import { loadFleet } from '../bmdb/fleet.ts';
import { ask, endChild, startChild } from './children.ts';
import type { BenchServer } from './database.ts';

export interface MirrorRequest {
  /** Of a database with so many machines. */
  readonly url: string;
  /** 0: only the heap of a daemon without machines. */
  readonly machines: number;
  /** How long heartbeats are watched. */
  readonly spanMs: number;
}

export interface MirrorResult {
  /** From the daemon's start until an actor lives for each machine. */
  readonly mirroredSeconds: number;
  /** In use after a collection, all of it. */
  readonly heapKb: number;
  /** Of one core, at one heartbeat per machine and 30 s; the database's own is not in it. */
  readonly cpuPercent: number;
  /** CPU of one full scan beside the heartbeats. */
  readonly scanCpuSeconds: number;
  /** The 99th percentile of the event loop's delay, sampled each millisecond. */
  readonly loopDelayP99Ms: number;
  /** The longest that the event loop was blocked; a full scan is in it. */
  readonly loopDelayMaxMs: number;
}

/** A daemon in a process of its own mirrors a fleet of started machines and takes their heartbeats. */
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
