import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { takeFreeAddress } from '../../emulators/hosts/serving/addresses.ts';

/** A machine that answers on all ports with its address. */
export interface ServingMachine {
  readonly address: string;
  /** Number of requests over all ports. */
  readonly answered: () => number;
  /** Open connections that carried a request. */
  readonly open: () => number;
  /** Refuses new connections and cuts the present ones. */
  stop(): Promise<void>;
  /** Answers again. */
  start(): Promise<void>;
}

/** Machines of one pool, with one port per service and this many loopback addresses. */
export async function startServing(
  count: number,
  ports: readonly number[],
): Promise<readonly ServingMachine[]> {
  const taken = new Set<string>();
  const machines: ServingMachine[] = [];
  for (let at = 0; at < count; at += 1) {
    machines.push(await startOne(await takeFreeAddress(taken, ports[0]!), ports));
  }
  return machines;
}

async function startOne(address: string, ports: readonly number[]): Promise<ServingMachine> {
  const sockets = new Set<Socket>();
  const used = new Set<Socket>();
  let answered = 0;
  let servers: Server[] = [];
  const startAt = async (port: number): Promise<Server> => {
    const server = createServer((request, response) => {
      answered += 1;
      used.add(request.socket);
      response.end(address);
    });
    server.keepAliveTimeout = 0;
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => {
        sockets.delete(socket);
        used.delete(socket);
      });
    });
    server.on('clientError', (_, socket) => socket.destroy());
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, address, resolve);
    });
    return server;
  };
  const start = async () => {
    if (servers.length === 0) servers = await Promise.all(ports.map(startAt));
  };
  await start();
  return {
    address,
    answered: () => answered,
    open: () => used.size,
    start,
    async stop() {
      const closed = servers
        .splice(0)
        .map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

const takenPorts = new Set<number>();
/** Free ports of 127.0.0.1. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await takeFreePort(takenPorts));
  return ports;
}
