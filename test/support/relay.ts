import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A relay between clients and a database without TLS. */
export interface Relay {
  /** URL of the database through the relay. */
  readonly url: string;
  /** Breaks all connections. */
  breakAll(): void;
  /** Breaks all connections, and accepts no more. */
  close(): Promise<void>;
}

/**
 * @param meet called for each client. It may connect the client to the database with `dial`, whose
 * socket ends with the client and vice versa. It passes on the bytes of both.
 */
export async function startRelay(
  target: string,
  meet: (client: Socket, dial: () => Socket) => void,
): Promise<Relay> {
  const to = new URL(target);
  const sockets = new Set<Socket>();
  const breakAll = () => sockets.forEach((socket) => socket.destroy());
  const add = (socket: Socket) => {
    sockets.add(socket.setNoDelay(true));
    return socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    meet(add(client), () => {
      const upstream = add(connect(Number(to.port), to.hostname));
      client.on('close', () => upstream.destroy());
      return upstream.on('close', () => client.destroy());
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = { port: String((server.address() as AddressInfo).port) };
  return {
    url: Object.assign(new URL(target), at).href,
    breakAll,
    close: async () => {
      breakAll();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
