import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { AuthContext, Connection, ParsedKey, Session } from 'ssh2';
import type { CommandContext } from './commands.ts';
import { runOnChannel } from './exec-channel.ts';
import type { ExecChannel } from './exec-channel.ts';
import type { HostsLog } from './options.ts';
import { serveSftp } from './sftp.ts';

export interface SshServerOptions {
  readonly port: number;
  /** OpenSSH PEM. */
  readonly hostKey: string;
  readonly context: CommandContext;
  /** Asked at each login. */
  authorized(): readonly ParsedKey[];
  readonly log: HostsLog;
}

export interface SshServer {
  /** While frozen, connections are accepted and nothing is read from any of them. */
  freeze(on: boolean): void;
  /** Breaks all connections and gives the port back. */
  close(): Promise<void>;
}

const host = '127.0.0.1';

/** Listens for SSH as one machine. @throws {Error} EADDRINUSE. */
export async function listenSsh(options: SshServerOptions): Promise<SshServer> {
  const ssh = new ssh2.Server({ hostKeys: [options.hostKey] }, (connection) =>
    serve(connection, options),
  );
  const sockets = new Set<Socket>();
  const waiting = new Set<Socket>();
  let frozen = false;
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      waiting.delete(socket);
    });
    // ssh2 listens only once it has the socket.
    socket.on('error', (err) => options.log.debug({ err }, 'a connection broke'));
    if (frozen) waiting.add(socket);
    else ssh.injectSocket(socket);
  });
  await listen(server, options.port);
  server.on('error', (err) => options.log.error({ err }, 'a connection could not be accepted'));
  return {
    freeze(on) {
      frozen = on;
      if (on) {
        for (const socket of sockets) socket.pause();
        return;
      }
      for (const socket of sockets) if (!waiting.has(socket)) socket.resume();
      for (const socket of waiting) ssh.injectSocket(socket);
      waiting.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** On 127.0.0.1. @throws {Error} EADDRINUSE. */
export const listen = (server: Server, port: number) =>
  new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });

function serve(connection: Connection, options: SshServerOptions): void {
  const { log } = options;
  connection.on('error', (err) => log.debug({ err }, 'an SSH connection broke'));
  connection.on('authentication', (attempt) => {
    if (mayEnter(attempt, options.authorized())) attempt.accept();
    else attempt.reject(['publickey']);
  });
  connection.on('session', (accept) => {
    const session = serveSession(accept(), options);
    connection.once('close', session.abandon);
  });
}

/** A client first asks whether a key would do, then comes back with a signature. */
function mayEnter(attempt: AuthContext, authorized: readonly ParsedKey[]): boolean {
  if (attempt.username !== 'root' || attempt.method !== 'publickey') return false;
  const key = authorized.find((one) => one.getPublicSSH().equals(attempt.key.data));
  if (!key) return false;
  const { blob, signature, hashAlgo } = attempt;
  if (!signature) return true;
  return blob !== undefined && key.verify(blob, signature, hashAlgo) === true;
}

function serveSession(session: Session, { context, log }: SshServerOptions) {
  let running: ExecChannel | undefined;
  session.on('exec', (accept, _reject, { command }) => {
    running = runOnChannel(command, accept(), context, log);
  });
  session.on('signal', (accept, _reject, { name }) => {
    running?.signal(name);
    accept?.();
  });
  session.on('sftp', (accept) => serveSftp(accept(), context.root));
  return { abandon: () => running?.abandon() };
}
