import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type ListenAt, listenAt, type Listening } from '../kit/listen.ts';
import type { Certificate } from './certificate.ts';

/** One BMC's port. */
export interface BmcListener {
  readonly url: string;
  /** Ends all connections, and accepts new ones. */
  cut(): void;
  /** While closed, connections are refused. */
  setOpen(isOpen: boolean): void;
  close(): Promise<void>;
}

export interface BmcListenerDeps {
  readonly at: ListenAt;
  /** Certificate for new connections. */
  readonly certificate: () => Certificate;
  /** Whether connections are cut at once. */
  readonly isDeaf: () => boolean;
  readonly serve: (request: IncomingMessage, response: ServerResponse) => void;
}

/** @throws {ListenError} the address is not available. */
export async function openBmcListener({
  at,
  certificate,
  isDeaf,
  serve,
}: BmcListenerDeps): Promise<BmcListener> {
  let shown = certificate();
  const server = at.network ? createServer(serve) : createSecureServer(shown, serve);
  // Runs before the server's own listener, which starts TLS.
  server.prependListener('connection', (socket) => {
    if (isDeaf()) socket.destroy();
    if (!('setSecureContext' in server) || certificate() === shown) return;
    shown = certificate();
    server.setSecureContext(shown);
  });
  const first = await listenAt(server, at);
  const { host, port } = first;
  let listening: Promise<Listening> | null = Promise.resolve(first);
  const close = async () => {
    const last = listening;
    listening = null;
    await (await last)?.close();
  };
  return {
    url: `https://${host}:${port}`,
    cut: () => server.closeAllConnections(),
    setOpen(isOpen) {
      if (isOpen) listening ??= listenAt(server, { ...at, port });
      else void close();
    },
    close,
  };
}
