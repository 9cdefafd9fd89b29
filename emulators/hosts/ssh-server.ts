import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import ssh2 from 'ssh2';
import type {
  Algorithms,
  AuthContext,
  Connection,
  ServerChannel,
  Session,
  SFTPWrapper,
} from 'ssh2';
import type { ExecChannel } from './exec-channel.ts';
import type { HostsLog } from './options.ts';

/** How one connection is served. */
export interface Visit {
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** Accepted algorithms; default: the usual ones. */
  readonly algorithms?: Algorithms;
  /** Accepts or rejects the attempt. */
  authenticate(attempt: AuthContext): void;
  /** Runs a command line. The result receives signals and the end of the connection. */
  exec(line: string, channel: ServerChannel, connection: Connection): ExecChannel | void;
  /** Absent: no SFTP. */
  sftp?(channel: SFTPWrapper): void;
}

export interface SshServerOptions {
  /** Address; default 127.0.0.1. */
  readonly address?: string | undefined;
  /** 0: a free port. */
  readonly port: number;
  readonly log: HostsLog;
  /** Called for each connection. Null: it stays open and is never answered. */
  visit(socket: Socket): Visit | null;
}

export interface SshServer {
  readonly port: number;
  /** While frozen, connections are accepted and nothing is read. */
  freeze(on: boolean): void;
  /** Breaks all connections and frees the port. */
  close(): Promise<void>;
}

/** Address of machines without their own. */
export const LOOPBACK = '127.0.0.1';

/** Listens for SSH as one machine. @throws {Error} EADDRINUSE. */
export async function listenSsh(options: SshServerOptions): Promise<SshServer> {
  const { log } = options;
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  let frozen = false;
  const serve = (socket: Socket) => {
    const visit = options.visit(socket);
    if (!visit) return;
    const { hostKey, algorithms } = visit;
    const ssh = new ssh2.Server(
      { hostKeys: [hostKey], ...(algorithms && { algorithms }) },
      (connection) => serveConnection(connection, visit, log),
    );
    ssh.injectSocket(socket);
  };
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      waiting.delete(socket);
    });
    // ssh2 listens only once it has the socket.
    socket.on('error', (err) => log.debug({ err }, 'a connection broke'));
    if (frozen) waiting.add(socket);
    else serve(socket);
  });
  await listen(server, options.port, options.address);
  server.on('error', (err) => log.error({ err }, 'a connection could not be accepted'));
  return {
    port: (server.address() as AddressInfo).port,
    freeze(on) {
      frozen = on;
      if (on) {
        for (const socket of sockets) socket.pause();
        return;
      }
      for (const socket of sockets) if (!waiting.has(socket)) socket.resume();
      for (const socket of waiting) serve(socket);
      waiting.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** @param address default 127.0.0.1. @throws {Error} EADDRINUSE. */
export const listen = (server: Server, port: number, address = LOOPBACK) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      server.off('error', reject);
      resolve();
    });
  });

function serveConnection(connection: Connection, visit: Visit, log: HostsLog): void {
  connection.on('error', (err) => log.debug({ err }, 'an SSH connection broke'));
  connection.on('authentication', (attempt) => visit.authenticate(attempt));
  connection.on('session', (accept) => {
    const session = serveSession(accept(), connection, visit);
    connection.once('close', session.abandon);
  });
}

function serveSession(session: Session, connection: Connection, visit: Visit) {
  let running: ExecChannel | void;
  session.on('exec', (accept, _reject, { command }) => {
    running = visit.exec(command, accept(), connection);
  });
  session.on('signal', (accept, _reject, { name }) => {
    running?.signal(name);
    accept?.();
  });
  if (visit.sftp) session.on('sftp', (accept) => visit.sftp?.(accept()));
  return { abandon: () => running?.abandon() };
}
