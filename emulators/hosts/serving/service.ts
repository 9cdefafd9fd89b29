import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HostsLog } from '../options.ts';
import { listen } from '../ssh-server.ts';

/** A machine's service statistics since the start of this simulator. */
export interface ServiceTally {
  /** Number of answered requests. */
  readonly requests: number;
  /** Open connections that have carried a request; health checks carry none. */
  readonly open: number;
  /** Such connections that were open at a power loss. */
  readonly cut: number;
}

export interface ServiceOptions {
  /** Its address from the next opening on. */
  where(): { readonly address: string; readonly port: number };
  readonly log: HostsLog;
  /** Its answer, as JSON. */
  answer(): object;
  onRequest(): void;
}

export interface Service {
  readonly tally: () => ServiceTally;
  open(): Promise<void>;
  /** Breaks all connections at once, as a power loss does. */
  close(): Promise<void>;
  /** While frozen, connections and requests are accepted and never answered. */
  freeze(on: boolean): void;
}

/**
 * A small HTTP service for a load balancer's clients: it answers every `GET` with the machine's
 * identity, and keeps connections open as long as the clients want.
 */
export function createService({ where, ...options }: ServiceOptions): Service {
  const sockets = new Set<Socket>();
  const used = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let server: Server | undefined;
  let isFrozen = false;
  let requests = 0;
  let cut = 0;

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    used.add(request.socket);
    options.onRequest();
    response.setHeader('content-type', 'application/json');
    response.end(`${JSON.stringify(options.answer())}\n`);
  };
  const onConnection = (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      used.delete(socket);
    });
  };

  async function open(): Promise<void> {
    if (server) return;
    const opening = createServer({ noDelay: true, keepAliveTimeout: 0 }, (request, response) => {
      if (isFrozen) waiting.push(() => answer(request, response));
      else answer(request, response);
    });
    opening.on('connection', onConnection);
    // A load balancer's checks connect without a request.
    opening.on('clientError', (_error, socket) => socket.destroy());
    const { address, port } = where();
    await listen(opening, port, address);
    opening.on('error', (err) => options.log.error({ err }, 'a client could not be accepted'));
    server = opening;
  }

  return {
    open,
    tally: () => ({ requests, cut, open: used.size }),
    async close() {
      const closing = server;
      server = undefined;
      isFrozen = false;
      waiting.length = 0;
      cut += used.size;
      const closed = new Promise<void>((resolve) => {
        if (closing) closing.close(() => resolve());
        else resolve();
      });
      for (const socket of sockets) socket.resetAndDestroy();
      await closed;
    },
    freeze(on) {
      isFrozen = on;
      if (!on) for (const answerNow of waiting.splice(0)) answerNow();
    },
  };
}
