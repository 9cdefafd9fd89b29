import type { EventEmitter } from 'node:events';
import { Duplex } from 'node:stream';
import { createHttp } from '../../src/adapters/driver-kit/exchange.ts';
import type { Address, Network } from '../../src/adapters/network/port.ts';
import { runOut, type VirtualClock } from './simulated-clock.ts';

/** Connections inside this process. Data arrives before the next turn of the event loop. */
export interface MemoryNetwork extends Network {
  /** Like the global `fetch`, for servers of this network; lets time pass. */
  fetch(url: string, init?: MemoryRequest): Promise<Response>;
  /** Connections to these addresses are neither accepted nor refused. */
  readonly silent: Set<string>;
}
export interface MemoryRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const FIRST_PORT = 40_001;
const PATIENCE = { connectTimeoutMs: 60_000, timeoutMs: 60_000 };

export function createMemoryNetwork(clock: VirtualClock): MemoryNetwork {
  const servers = new Map<string, { server: EventEmitter; sockets: Set<Socket> }>();
  const silent = new Set<string>();
  let lastPort = FIRST_PORT - 1;
  const keyOf = ({ host, port }: Address) => `${host}:${port}`;
  const network: MemoryNetwork = {
    silent,
    connect(to) {
      const [near, far] = createPair();
      inTwoTicks(() => {
        const listening = servers.get(keyOf(to));
        if (near.destroyed || silent.has(keyOf(to))) return;
        if (!listening) return void near.destroy(failure('ECONNREFUSED'));
        listening.sockets.add(far);
        far.once('close', () => listening.sockets.delete(far));
        listening.server.emit('connection', far);
        near.emit('connect');
      });
      return near;
    },
    listen(server, { host, port: wanted }) {
      const port = wanted === 0 ? (lastPort += 1) : wanted;
      const key = keyOf({ host, port });
      if (servers.has(key)) throw failure('EADDRINUSE');
      const sockets = new Set<Socket>();
      servers.set(key, { server, sockets });
      return {
        host,
        port,
        async close() {
          servers.delete(key);
          for (const socket of sockets) socket.destroy();
        },
      };
    },
    async fetch(url, { method = 'GET', headers = {}, body = null } = {}) {
      const { origin, pathname, searchParams } = new URL(url);
      const sent = { method, path: pathname, query: searchParams, payload: body, headers };
      const { signal } = new AbortController();
      const http = createHttp({ baseUrl: origin }, { clock, network });
      const request = { ...sent, ...PATIENCE, freshConnection: true };
      const reply = await runOut(clock, http.exchange(request, signal));
      const text = reply.text === '' ? null : reply.text;
      return new Response(text, {
        status: reply.status,
        headers: new Headers(
          Object.entries(reply.headers).map(([name, value]) => [name, String(value)]),
        ),
      });
    },
  };
  return network;
}

/** HTTP hands the socket to its request in the next tick, and only then listens for `connect`. */
const inTwoTicks = (then: () => void) => process.nextTick(() => process.nextTick(then));

const failure = (code: string) => Object.assign(new Error(code), { code });

/** One end of a connection, with the interface of a socket. */
class Socket extends Duplex {
  peer!: Socket;
  readonly remoteAddress = '127.0.0.1';
  #isEnded = false;

  override _read(): void {
    // Incoming data is pushed as soon as it arrives.
  }
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const { peer } = this;
    process.nextTick(() => {
      if (!peer.destroyed) peer.push(chunk);
      done();
    });
  }
  override _final(done: () => void): void {
    this.#endPeer();
    done();
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#endPeer();
    done(error);
  }
  #endPeer(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { peer } = this;
    process.nextTick(() => void (peer.destroyed || peer.push(null)));
  }
}

function createPair(): [Socket, Socket] {
  const [near, far] = [new Socket(), new Socket()];
  near.peer = far;
  far.peer = near;
  return [near, far];
}
