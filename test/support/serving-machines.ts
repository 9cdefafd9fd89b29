import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { takeFreePort } from '../../src/simulator/hosts/free-port.ts';
import { takeFreeAddress } from '../../src/simulator/hosts/serving/addresses.ts';

/** A machine that answers on all of the ports with its address. */
export interface ServingMachine {
  readonly address: string;
  /** Requests, over all ports. */
  readonly answered: () => number;
  /** Connections that carried a request and are open. */
  readonly open: () => number;
  stop(): Promise<void>;
}

/** Machines of one pool: they have one port each for a service, and so many addresses of loopback. */
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
  const servers: Server[] = [];
  for (const port of ports) {
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
    servers.push(server);
  }
  return {
    address,
    answered: () => answered,
    open: () => used.size,
    async stop() {
      const closed = servers.map(
        (server) => new Promise<void>((resolve) => server.close(() => resolve())),
      );
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

const takenPorts = new Set<number>();
/** Ports of 127.0.0.1 where nobody listens. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await takeFreePort(takenPorts));
  return ports;
}
