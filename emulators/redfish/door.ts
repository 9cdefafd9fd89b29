import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type ListenAt, listenAt } from '../kit/listen.ts';
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
  const server = at.network
    ? createServer(serve)
    : createSecureServer({ key: certificate.key, cert: certificate.cert }, serve);
  server.on('connection', (socket) => void (isDeaf() && socket.destroy()));
  const { host, port, close } = await listenAt(server, at);
  let shut: (() => Promise<void>) | null = close;
  async function end() {
    const closing = shut?.();
    shut = null;
    await closing;
  }
  return {
    url: `https://${host}:${port}`,
    certificate: () => shown,
    setCertificate(next) {
      shown = next;
      if (!('setSecureContext' in server)) return;
      server.setSecureContext({ key: next.key, cert: next.cert });
      server.closeAllConnections();
    },
    async setOpen(isOpen) {
      if (isOpen === (shut !== null)) return;
      if (isOpen) shut = (await listenAt(server, { ...at, port })).close;
      else await end();
    },
    close: end,
  };
}
