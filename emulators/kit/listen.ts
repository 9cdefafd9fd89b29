import type { Server } from 'node:http';
import type { EventEmitter } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';

/** The address is not available. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Port 0 takes a free one. */
export interface ListenAt {
  readonly host: string;
  readonly port: number;
  /** Replaces TCP and TLS. */
  readonly network?: Network;
}

export interface Network {
  /** A connection emits `connect` or `error`, like a socket. */
  connect(to: { readonly host: string; readonly port: number }): Duplex;
  /** Each connection to the address becomes a `connection` event of the server. */
  listen(server: EventEmitter, at: { readonly host: string; readonly port: number }): Listening;
}

/** A server that accepts connections. */
export interface Listening {
  /** In the form of a URL. */
  readonly host: string;
  readonly port: number;
  /** Refuses new connections and cuts the open ones. */
  close(): Promise<void>;
}

/** @throws {ListenError} */
export async function listenAt(server: Server, at: ListenAt): Promise<Listening> {
  const { host, port, network } = at;
  if (network) return network.listen(server, { host, port });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  }).catch((cause: unknown) => {
    throw refused(at, cause);
  });
  return {
    ...addressOf(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The address with its real port, as a URL. @throws {ListenError} */
export async function listen(app: FastifyInstance, at: ListenAt): Promise<string> {
  const { host, port, network } = at;
  if (network) {
    const listening = network.listen(app.server, { host, port });
    app.addHook('onClose', () => listening.close());
    await app.ready();
    return `http://${listening.host}:${listening.port}`;
  }
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    throw refused(at, error);
  }
  const taken = addressOf(app.server);
  return `http://${taken.host}:${taken.port}`;
}

function addressOf(server: Server): { host: string; port: number } {
  const { address, family, port } = server.address() as AddressInfo;
  return { host: family === 'IPv6' ? `[${address}]` : address, port };
}

const refused = ({ host, port }: ListenAt, cause: unknown) =>
  new ListenError(`cannot listen on ${host}:${port}; choose another with --listen`, { cause });
