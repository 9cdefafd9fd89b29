/** The thread of the agent server; see `openAgentServer`. */
import { parentPort, workerData } from 'node:worker_threads';
import { runFrontThread } from '../adapters/agents/front-thread.ts';
import type { ThreadStart } from '../adapters/agents/front-thread.ts';
import { systemClock } from '../adapters/clock/system-clock.ts';

if (!parentPort) throw new Error('runs as a thread of the daemon only');
await runFrontThread({ port: parentPort, start: workerData as ThreadStart, clock: systemClock });
