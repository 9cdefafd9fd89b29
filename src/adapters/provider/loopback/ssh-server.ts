import { existsSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { ChildProcess } from 'node:child_process';
import ssh2, { type AuthContext, type Connection, type ServerChannel, type Session } from 'ssh2';
import type { Log } from '../../log/port.ts';

export interface SshServerOptions {
  /** OpenSSH PEM. */
  readonly hostKey: string;
  /** OpenSSH line that may log in. */
  readonly authorized: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly log: Log;
  /** Runs what a client asks for. */
  start(command: string): ChildProcess;
}

export interface SshServer {
  readonly port: number;
  /** Breaks all connections and gives the port back. */
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
/** Where systems keep the file transfer part of their own SSH server. */
const SFTP_SERVERS = [
  '/usr/lib/openssh/sftp-server',
  '/usr/libexec/openssh/sftp-server',
  '/usr/lib/ssh/sftp-server',
  '/usr/libexec/sftp-server',
];

/**
 * Lets one key log in, on loopback only, under any name: whoever comes is the user of this process.
 * @throws {Error} EADDRINUSE.
 */
export async function listenSsh(options: SshServerOptions): Promise<SshServer> {
  const ssh = new ssh2.Server({ hostKeys: [options.hostKey] }, (connection) =>
    serve(connection, options),
  );
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', (err) => options.log.debug({ err }, 'a connection broke'));
    ssh.injectSocket(socket);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, HOST, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function serve(connection: Connection, options: SshServerOptions): void {
  connection.on('error', (err) => options.log.debug({ err }, 'an SSH connection broke'));
  connection.on('authentication', (attempt) => {
    if (mayEnter(attempt, options.authorized)) attempt.accept();
    else attempt.reject(['publickey']);
  });
  connection.on('session', (accept) => serveSession(accept(), options));
}

/** A client first asks whether a key would do, then comes back with a signature. */
function mayEnter(attempt: AuthContext, authorized: string): boolean {
  const key = ssh2.utils.parseKey(authorized);
  if (key instanceof Error || attempt.method !== 'publickey') return false;
  if (!key.getPublicSSH().equals(attempt.key.data)) return false;
  const { blob, signature, hashAlgo } = attempt;
  return !signature || !blob || key.verify(blob, signature, hashAlgo) === true;
}

function serveSession(session: Session, { start, log }: SshServerOptions): void {
  session.on('exec', (accept, _reject, { command }) => wire(start(command), accept(), log));
  session.on('subsystem', (accept, reject, { name }) => {
    const program = SFTP_SERVERS.find((path) => existsSync(path));
    if (name === 'sftp' && program !== undefined) wire(start(`exec ${program}`), accept(), log);
    else reject();
  });
}

/** The outputs end with the process; a client that leaves takes the pipes away, not the process. */
function wire(child: ChildProcess, channel: ServerChannel, log: Log): void {
  channel.on('error', (err: Error) => log.debug({ err }, 'a channel broke'));
  child.stdin!.on('error', (err) => log.debug({ err }, 'stdin was not read to its end'));
  channel.pipe(child.stdin!);
  child.stdout!.pipe(channel, { end: false });
  child.stderr!.pipe(channel.stderr, { end: false });
  channel.once('close', () => {
    for (const stream of child.stdio) stream?.destroy();
  });
  child.once('error', (err) => log.debug({ err }, 'a command could not be started'));
  child.once('close', (code, signal) => {
    if (code === null) channel.exit((signal ?? 'SIGKILL').slice(3), false, '');
    else channel.exit(code);
    channel.end();
  });
}
