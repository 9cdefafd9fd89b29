import { createServer, type Server as HttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { ListenError, type ListenAt } from '../../kit/listen.ts';

/** Where the API is reached. */
export interface Door {
  readonly url: string;
  /** Shut: connections are refused, and those that there are end. Resolves when it is so. */
  setOpen(isOpen: boolean): Promise<void>;
  /** Silent: new connections are taken, and nothing is read from them until it ends. */
  setSilent(isSilent: boolean): void;
  close(): Promise<void>;
}

/** @throws {ListenError} the address cannot be listened on. */
export async function openDoor(
  at: ListenAt,
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Door> {
  const http: HttpServer = createServer(serve);
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  let isSilent = false;
  const greet = (socket: Socket) => {
    http.emit('connection', socket);
    socket.resume();
  };
  const server = createTcpServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      waiting.delete(socket);
    });
    socket.on('error', () => socket.destroy());
    if (isSilent) waiting.add(socket);
    else greet(socket);
  });
  const listenAt = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, at.host, () => {
        server.off('error', reject);
        resolve();
      });
    });
  await listenAt(at.port).catch((cause: unknown) => {
    const message = `cannot listen on ${at.host}:${at.port}; choose another with --listen`;
    throw new ListenError(message, { cause });
  });
  const { address, family, port } = server.address() as AddressInfo;
  const shut = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  /** One change at a time. */
  let last: Promise<void> = Promise.resolve();
  const inTurn = (work: () => Promise<void>) => (last = last.then(work));
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    setOpen: (isOpen) =>
      inTurn(async () => {
        if (isOpen !== server.listening) await (isOpen ? listenAt(port) : shut());
      }),
    setSilent(silent) {
      isSilent = silent;
      if (silent) return;
      for (const socket of waiting) greet(socket);
      waiting.clear();
    },
    close: () => inTurn(async () => void (server.listening && (await shut()))),
  };
}
