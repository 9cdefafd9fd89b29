import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import type { Algorithms, Connection, ServerChannel, Session, SFTPWrapper } from 'ssh2';
import { encodeOpensshKey, publicBlob } from '../../../src/adapters/ssh/openssh-key.ts';
import { rawKey } from './keys.ts';

const { STATUS_CODE } = ssh2.utils.sftp;

export interface OddServerOptions {
  /** Only this key (base64 blob) may enter; absent: any. */
  readonly onlyKey?: string;
  /** No key may enter, but who says this. */
  readonly onlyPassword?: string;
  /** Absent: SFTP is refused. */
  readonly sftp?: (sftp: SFTPWrapper) => void;
  /** Absent: commands run in a shell, in `cwd`. */
  readonly exec?: (command: string, channel: ServerChannel, connection: Connection) => void;
  readonly cwd?: string;
  /** What it speaks; absent: what is usual. */
  readonly algorithms?: Algorithms;
}

/** A machine as they also exist: not OpenSSH's, without SFTP, rude. */
export async function startOddServer(options: OddServerOptions = {}) {
  const keysOffered: string[] = [];
  const passwordsOffered: string[] = [];
  const commands: string[] = [];
  const connections = new Set<Connection>();
  const raw = rawKey();
  const hostKey = encodeOpensshKey(raw.subarray(0, 32), raw.subarray(32));
  const speaks = options.algorithms && { algorithms: options.algorithms };
  const ssh = new ssh2.Server({ hostKeys: [hostKey], ...speaks }, (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => undefined);
    connection.on('authentication', (attempt) => {
      if (options.onlyPassword !== undefined) {
        if (attempt.method !== 'password') return attempt.reject(['password']);
        passwordsOffered.push(attempt.password);
        if (attempt.password === options.onlyPassword) return attempt.accept();
        return attempt.reject(['password']);
      }
      if (attempt.method !== 'publickey') return attempt.reject(['publickey']);
      const key = attempt.key.data.toString('base64');
      if (keysOffered.at(-1) !== key) keysOffered.push(key);
      if (options.onlyKey === undefined || options.onlyKey === key) return attempt.accept();
      return attempt.reject(['publickey']);
    });
    connection.on('session', (accept) => serve(accept(), connection));
  });
  const server = createServer({ noDelay: true }, (socket) => ssh.injectSocket(socket));
  const serve = (session: Session, connection: Connection) => {
    session.on('exec', (accept, _reject, { command }) => {
      commands.push(command);
      const channel = accept();
      channel.on('error', () => undefined);
      if (options.exec) options.exec(command, channel, connection);
      else runInShell(command, channel, options.cwd);
    });
    if (options.sftp) session.on('sftp', (accept) => options.sftp!(accept()));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    target: { host: '127.0.0.1', port, username: 'root' },
    /** Base64 blobs, in the order they came. */
    keysOffered,
    passwordsOffered,
    /** Base64 of the wire blob. */
    hostKey: publicBlob(raw.subarray(32)).toString('base64'),
    commands,
    connections: () => connections.size,
    close: () =>
      new Promise<void>((resolve) => {
        for (const connection of connections) connection.end();
        server.close(() => resolve());
      }),
  };
}

function runInShell(command: string, channel: ServerChannel, cwd = '/'): void {
  const child = spawn('/bin/sh', ['-c', command], { cwd });
  child.stdin.on('error', () => undefined);
  channel.pipe(child.stdin);
  child.stdout.pipe(channel, { end: false });
  child.stderr.pipe(channel.stderr, { end: false });
  child.on('close', (code) => {
    channel.exit(code ?? 1);
    channel.end();
  });
}

/** As much SFTP as an upload needs, on the system's own disk. `change` may replace what it does. */
export const sftpOfDisk =
  (change: (sftp: SFTPWrapper) => void = () => undefined) =>
  (sftp: SFTPWrapper) => {
    const files = new Map<string, FileHandle>();
    const answer = (id: number, work: () => Promise<unknown>) => {
      work().then(
        () => sftp.status(id, STATUS_CODE.OK),
        (error: Error) => sftp.status(id, STATUS_CODE.FAILURE, error.message),
      );
    };
    sftp.on('OPEN', (id, path, flags, { mode }) => {
      open(path, ssh2.utils.sftp.flagsToString(flags) ?? 'r', mode).then(
        (file) => {
          files.set(String(id), file);
          sftp.handle(id, Buffer.from(String(id)));
        },
        (error: Error) => sftp.status(id, STATUS_CODE.FAILURE, error.message),
      );
    });
    sftp.on('WRITE', (id, handle, offset, data) =>
      answer(id, () => files.get(handle.toString())!.write(data, 0, data.length, offset)),
    );
    sftp.on('CLOSE', (id, handle) => answer(id, () => files.get(handle.toString())!.close()));
    sftp.on('close', () => void Promise.all([...files.values()].map((file) => file.close())));
    change(sftp);
  };
