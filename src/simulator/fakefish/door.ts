import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ListenError, type ListenAt } from '../listen.ts';
import type { Certificate } from './certificate.ts';

/** Where one BMC is reached. */
export interface Door {
  readonly url: string;
  certificate(): Certificate;
  setCertificate(certificate: Certificate): void;
  /** Shut: connections are refused. Resolves when it is so. */
  setOpen(isOpen: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface DoorDeps {
  readonly at: ListenAt;
  readonly certificate: Certificate;
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
  /** Connections are cut as soon as they are made. */
  readonly isDeaf: () => boolean;
}

/** @throws {ListenError} the address cannot be listened on. */
export async function openDoor({ at, certificate, serve, isDeaf }: DoorDeps): Promise<Door> {
  let shown = certificate;
  const server = createServer({ key: certificate.key, cert: certificate.cert }, serve);
  server.on('connection', (socket) => void (isDeaf() && socket.destroy()));
  await listenAt(server, at).catch((cause: unknown) => {
    const { host, port } = at;
    const message = `cannot listen on ${host}:${port}; choose another with --listen`;
    throw new ListenError(message, { cause });
  });
  const { address, family, port } = server.address() as AddressInfo;
  const shut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `https://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    certificate: () => shown,
    setCertificate(next) {
      shown = next;
      server.setSecureContext({ key: next.key, cert: next.cert });
      server.closeAllConnections();
    },
    async setOpen(isOpen) {
      if (isOpen === server.listening) return;
      await (isOpen ? listenAt(server, { host: at.host, port }) : shut());
    },
    async close() {
      if (server.listening) await shut();
    },
  };
}

const listenAt = (server: Server, { host, port }: ListenAt) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
