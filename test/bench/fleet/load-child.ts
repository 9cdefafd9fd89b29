import { createHash } from 'node:crypto';
import { heartbeatRequestCodec } from '../../../src/wire/codec.ts';
import { writeFrame } from '../../../src/wire/grpc.ts';
import { quantile } from '../measure.ts';
import { openLeanCaller, type LeanCaller } from './lean-caller.ts';
import type { LoadRequest, Paced } from './heartbeats.ts';

/**
 * Callers in a process of their own, the same for every server: they open their connections first,
 * and call on them as they are then told to.
 */
process.on('message', (request) => {
  void answer(request as LoadRequest).then((told) => process.send!(told));
});
process.once('disconnect', () => process.exit());

interface Connection {
  readonly caller: LeanCaller;
  /** What the first of its agents says. */
  readonly frame: Uint8Array;
}

let connections: Connection[] = [];
/** So many connections are opened at once. */
const OPENING = 20;

async function answer(request: LoadRequest): Promise<unknown> {
  if (request.kind === 'closed') return callInTurn(request);
  if (request.kind === 'paced') return callAtPace(request);
  const { port, path, callers } = request;
  const opened: Connection[] = [];
  let next = 0;
  const open = async () => {
    for (let at = next++; at < callers.length; at = next++) {
      const frame = frameOf(at);
      const caller = await openLeanCaller({ port, path, tls: callers[at]! });
      // The first call makes an agent of a stranger.
      await caller.call(frame);
      opened[at] = { caller, frame };
    }
  };
  await Promise.all(Array.from({ length: OPENING }, open));
  connections = opened;
  return opened.length;
}

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Each connection has one call at a time. @returns calls within the span. */
async function callInTurn({ warmMs, spanMs }: Extract<LoadRequest, { kind: 'closed' }>) {
  let answered = 0;
  let counts = false;
  let over = false;
  const loops = connections.map(async ({ caller, frame }) => {
    while (!over) {
      await caller.call(frame);
      if (counts) answered += 1;
    }
  });
  await later(warmMs);
  counts = true;
  await later(spanMs);
  counts = false;
  over = true;
  await Promise.all(loops);
  return answered;
}

/**
 * Agents that come when their time has come, whatever became of the others, in a random order and
 * at random distances. What an answer took is counted from then on, so that one which was sent late
 * because others were slow is late.
 */
async function callAtPace(request: Extract<LoadRequest, { kind: 'paced' }>): Promise<Paced> {
  const { agents, perSecond, warmMs, spanMs } = request;
  const startMs = performance.now();
  const [fromMs, untilMs] = [startMs + warmMs, startMs + warmMs + spanMs];
  const offset = Math.floor(Math.random() * agents);
  const tookMs: number[] = [];
  const calls = new Set<Promise<void>>();
  let failed = 0;
  let sent = 0;
  const send = (dueMs: number) => {
    const agent = (offset + sent * STRIDE) % agents;
    sent += 1;
    const { caller } = connections[agent % connections.length]!;
    const call: Promise<void> = caller
      .call(frameOf(agent))
      .then(
        () => {
          if (dueMs >= fromMs) tookMs.push(performance.now() - dueMs);
        },
        () => void (failed += 1),
      )
      .then(() => void calls.delete(call));
    calls.add(call);
  };
  for (let dueMs = startMs; dueMs < untilMs;) {
    for (const nowMs = performance.now(); dueMs <= nowMs && dueMs < untilMs;) {
      send(dueMs);
      dueMs -= (Math.log(1 - Math.random()) * 1_000) / perSecond;
    }
    await later(1);
  }
  await Promise.all(calls);
  return { all: sent, failed, p99Ms: quantile(tookMs, 0.99) };
}

/** A prime, so that agents come in another order than they have, and each once in a period. */
const STRIDE = 7_368_787;

const PLACEHOLDER = '00000000-0000-0000-0000-000000000000';
const TEMPLATE = writeFrame(
  heartbeatRequestCodec.encode({ machineId: PLACEHOLDER, bootId: 'bench', uptimeSeconds: 1n }),
);
const MACHINE_AT = TEMPLATE.indexOf(PLACEHOLDER);

function frameOf(agent: number): Buffer {
  const frame = Buffer.from(TEMPLATE);
  const hex = createHash('md5').update(String(agent)).digest('hex');
  frame.write(hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'), MACHINE_AT, 'latin1');
  return frame;
}
