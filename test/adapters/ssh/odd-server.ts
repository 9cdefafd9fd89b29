import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import ssh2 from 'ssh2';
import type { Connection, ServerChannel, Session, SFTPWrapper } from 'ssh2';
import { encodeOpensshKey } from '../../../src/adapters/ssh/openssh-key.ts';
import { rawKey } from './keys.ts';

const { STATUS_CODE } = ssh2.utils.sftp;

export interface OddServerOptions {
  /** Only this key (base64 blob) may enter; absent: any. */
  readonly onlyKey?: string;
  /** Absent: SFTP is refused. */
  readonly sftp?: (sftp: SFTPWrapper) => void;
  /** Absent: commands run in a shell, in `cwd`. */
  readonly exec?: (command: string, channel: ServerChannel, connection: Connection) => void;
  readonly cwd?: string;
}

/** A machine as they also exist: without SFTP, without rename over files, rude. */
export async function startOddServer(options: OddServerOptions = {}) {
  const keysOffered: string[] = [];
  const commands: string[] = [];
  const connections = new Set<Connection>();
  const raw = rawKey();
  const hostKey = encodeOpensshKey(raw.subarray(0, 32), raw.subarray(32));
  const ssh = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => undefined);
    connection.on('authentication', (attempt) => {
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

/** SFTP without extensions, whose rename refuses to replace: as the protocol's version 3 says. */
export const strictSftp = (files: Map<string, Buffer>) => (sftp: SFTPWrapper) => {
  const open = new Map<string, string>();
  const answer = (id: number, good: boolean, code = STATUS_CODE.FAILURE) =>
    sftp.status(id, good ? STATUS_CODE.OK : code);
  sftp.on('STAT', (id, path) => {
    const content = files.get(path);
    if (!content) return sftp.status(id, STATUS_CODE.NO_SUCH_FILE);
    const times = { atime: 0, mtime: 0 };
    return sftp.attrs(id, { mode: 0o100755, uid: 0, gid: 0, size: content.length, ...times });
  });
  sftp.on('OPEN', (id, path) => {
    files.set(path, Buffer.alloc(0));
    open.set(String(id), path);
    sftp.handle(id, Buffer.from(String(id)));
  });
  sftp.on('WRITE', (id, handle, offset, data) => {
    const path = open.get(handle.toString())!;
    const before = files.get(path)!;
    const after = Buffer.alloc(Math.max(before.length, offset + data.length));
    before.copy(after);
    data.copy(after, offset);
    files.set(path, after);
    answer(id, true);
  });
  sftp.on('CLOSE', (id) => answer(id, true));
  sftp.on('SETSTAT', (id) => answer(id, true));
  sftp.on('REMOVE', (id, path) => answer(id, files.delete(path), STATUS_CODE.NO_SUCH_FILE));
  sftp.on('RENAME', (id, from, to) => {
    const content = files.get(from);
    if (!content || files.has(to)) return answer(id, false);
    files.delete(from);
    files.set(to, content);
    return answer(id, true);
  });
};
