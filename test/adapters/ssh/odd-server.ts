import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import type { Socket } from 'node:net';
import ssh2 from 'ssh2';
import type { Algorithms, AuthContext, Connection, ServerChannel, SFTPWrapper } from 'ssh2';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { generateHostKey, publicBlobOf } from '../../../emulators/hosts/keys.ts';
import { listenSsh } from '../../../emulators/hosts/ssh-server.ts';

const { STATUS_CODE } = ssh2.utils.sftp;

export interface OddServerOptions {
  /** Only this key (base64 blob) is accepted. Default: any. */
  readonly onlyKey?: string;
  /** No key is accepted, only this password. */
  readonly onlyPassword?: string;
  /** Default: SFTP is refused. */
  readonly sftp?: (sftp: SFTPWrapper) => void;
  /** Default: commands run in a shell, in `cwd`. */
  readonly exec?: (command: string, channel: ServerChannel, connection: Connection) => void;
  readonly cwd?: string;
  /** Its algorithms. Default: the usual ones. */
  readonly algorithms?: Algorithms;
}

/** An unusual machine: without OpenSSH or SFTP, or misbehaving. */
export async function startOddServer(options: OddServerOptions = {}) {
  const keysOffered: string[] = [];
  const passwordsOffered: string[] = [];
  const commands: string[] = [];
  const sockets = new Set<Socket>();
  const hostKey = generateHostKey();
  const { algorithms, sftp } = options;
  const authenticate = (attempt: AuthContext) => {
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
  };
  const server = await listenSsh({
    port: 0,
    log: silentLog,
    visit(socket) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      return {
        hostKey,
        authenticate,
        ...(algorithms && { algorithms }),
        ...(sftp && { sftp }),
        exec(command, channel, connection) {
          commands.push(command);
          channel.on('error', () => undefined);
          if (options.exec) options.exec(command, channel, connection);
          else runInShell(command, channel, options.cwd);
        },
      };
    },
  });
  return {
    target: { host: '127.0.0.1', port: server.port, username: 'root' },
    /** Base64 blobs, in order of arrival. */
    keysOffered,
    passwordsOffered,
    /** Base64 of the wire blob. */
    hostKey: publicBlobOf(hostKey).toString('base64'),
    commands,
    connections: () => sockets.size,
    close: server.close,
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

/**
 * The part of SFTP that an upload needs, on the system's disk. `change` may replace its actions.
 */
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
    sftp.on('end', () => sftp.end());
    sftp.on('close', () => void Promise.all([...files.values()].map((file) => file.close())));
    change(sftp);
  };
