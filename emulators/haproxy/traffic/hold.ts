import { Agent } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { callOnce, type Address } from './call.ts';

/** How a connection ended. */
export type HoldEnd =
  /** Its client ended it after use. */
  | { readonly kind: 'ended' }
  /** It carried requests, and somebody else ended it. */
  | { readonly kind: 'cut'; readonly why: string }
  /** Its first request got no answer. */
  | { readonly kind: 'refused'; readonly why: string };

const GAP_MS = 200;

/**
 * A client that keeps one connection for a while and sends requests now and then. It ends the
 * connection when the time is over or the signal aborts; any earlier end is a cut.
 */
export async function holdConnection(
  to: Address,
  holdMs: number,
  signal: AbortSignal,
): Promise<HoldEnd> {
  const sockets = new Set<Socket>();
  let lost = false;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.on('free', (socket: Socket) => {
    if (sockets.has(socket)) return;
    sockets.add(socket);
    socket.once('close', () => (lost = true));
  });
  const endsAt = performance.now() + holdMs;
  try {
    for (let asked = 0; ; asked += 1) {
      const why = await callOnce(to, agent);
      if (why !== null) return asked === 0 ? { kind: 'refused', why } : { kind: 'cut', why };
      const leftMs = endsAt - performance.now();
      if (leftMs <= 0 || signal.aborted) return { kind: 'ended' };
      await sleep(Math.min(GAP_MS, leftMs), undefined, { signal }).catch(() => undefined);
      // An agent would reconnect unnoticed.
      if (lost || sockets.size !== 1) return { kind: 'cut', why: 'closed while nothing was asked' };
    }
  } finally {
    agent.destroy();
  }
}
