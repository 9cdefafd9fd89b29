import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Rations {
  /** Rate towards the server. Default: unlimited. */
  readonly upBytesPerSecond?: number;
  readonly downBytesPerSecond?: number;
  /** Each connection breaks after this many bytes towards the server. */
  readonly cutAfterBytes?: number;
  /** Each connection then falls silent in both directions, and stays open. */
  readonly holdAfterBytes?: number;
}

/** A TCP proxy on loopback that simulates a slow or bad line. */
export interface RationedProxy {
  readonly port: number;
  /** Bytes that passed towards the server on all connections. */
  upBytes(): number;
  /** From now on nothing passes on any connection, not even its end. */
  hold(): void;
  close(): Promise<void>;
}

export async function startRationedProxy(
  targetPort: number,
  rations: Rations = {},
): Promise<RationedProxy> {
  const sockets = new Set<Socket>();
  const held = Promise.withResolvers<never>();
  held.promise.catch(() => undefined);
  let holding = false;
  let upBytes = 0;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true).on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  };
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true });
    for (const socket of [client, upstream]) track(socket);
    let passed = 0;
    const up = async (bytes: number) => {
      passed += bytes;
      upBytes += bytes;
      if (passed >= (rations.cutAfterBytes ?? Infinity)) {
        client.destroy();
        upstream.destroy();
      }
      if (passed >= (rations.holdAfterBytes ?? Infinity)) holding = true;
    };
    const gate = async () => {
      if (holding) await held.promise;
    };
    const { upBytesPerSecond = Infinity, downBytesPerSecond = Infinity } = rations;
    const join = (from: Socket, to: Socket, rate: number, count: (bytes: number) => unknown) =>
      pipeline(from, (source) => rationed(source, rate, gate, count), to).catch(() => undefined);
    void join(client, upstream, upBytesPerSecond, up);
    void join(upstream, client, downBytesPerSecond, () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    upBytes: () => upBytes,
    hold: () => void (holding = true),
    async close() {
      held.reject(new Error('the proxy was closed'));
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const TICKS_PER_SECOND = 50;

async function* rationed(
  source: AsyncIterable<Buffer>,
  bytesPerSecond: number,
  gate: () => Promise<void>,
  count: (bytes: number) => unknown,
): AsyncGenerator<Buffer> {
  const ticks = Math.min(TICKS_PER_SECOND, bytesPerSecond);
  const share = bytesPerSecond === Infinity ? Infinity : Math.ceil(bytesPerSecond / ticks);
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length; at += share) {
      const piece = chunk.subarray(at, Math.min(chunk.length, at + share));
      await gate();
      yield piece;
      count(piece.length);
      if (share !== Infinity) await sleep(1_000 / ticks);
    }
  }
  await gate();
}
