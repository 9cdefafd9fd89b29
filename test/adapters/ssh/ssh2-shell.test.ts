import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  Cancelled,
  Denied,
  RemoteFailure,
  TimedOut,
  Unreachable,
  UsageError,
} from '../../../src/domain/errors.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import type { Metrics } from '../../../src/adapters/metrics/port.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import type { Ssh2ShellOptions } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { rawKey } from './keys.ts';
import { startOddServer, strictSftp } from './odd-server.ts';
import type { OddServerOptions } from './odd-server.ts';

const key = parseSshKey(rawKey(), 'key');
const blobOf = ({ publicLine }: { publicLine: string }) => publicLine.split(' ')[1]!;
const live = new AbortController().signal;
const nothing = Buffer.alloc(0);
const { STATUS_CODE } = ssh2.utils.sftp;

const shellWith = (options: Partial<Ssh2ShellOptions> = {}) =>
  createSsh2Shell({ signers: [key], clock: systemClock, log: silentLog, ...options });

let dir: string;
const ends: (() => Promise<void> | void)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shepherd-odd-'));
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await rm(dir, { recursive: true, force: true });
});
const start = async (options: OddServerOptions = {}) => {
  const server = await startOddServer(options);
  ends.push(server.close);
  return server;
};
const connect = async (options: OddServerOptions = {}) => {
  const server = await start(options);
  const session = await shellWith().connect(server.target, live);
  ends.push(session.close);
  return { server, session };
};

describe('keys', () => {
  test('are offered in order until one fits', async () => {
    const keys = Array.from({ length: 5 }, () => parseSshKey(rawKey(), 'key'));
    const server = await start({ onlyKey: blobOf(keys[3]!) });
    const session = await shellWith({ signers: keys }).connect(server.target, live);
    ends.push(session.close);
    expect(server.keysOffered).toEqual(keys.slice(0, 4).map(blobOf));
  });
  test('that are all refused leave no connection behind', async () => {
    const server = await start({ onlyKey: 'none' });
    await expect(shellWith().connect(server.target, live)).rejects.toBeInstanceOf(Denied);
    await expect.poll(() => server.connections()).toBe(0);
  });
  test('are between one and five, and readable', () => {
    expect(() => shellWith({ signers: [] })).toThrow(UsageError);
    expect(() => shellWith({ signers: [key, key, key, key, key, key] })).toThrow(UsageError);
    expect(() => shellWith({ signers: [{ ...key, privateKey: 'torn' }] })).toThrow(UsageError);
  });
});

describe('a machine without SFTP', () => {
  test('gets the file through cat, and is skipped the second time', async () => {
    const { server, session } = await connect({ cwd: dir });
    const path = join(dir, "it's an agent");
    const file = uploadOf(Buffer.from('#!/bin/sh\nexec cat\n'));
    expect(await session.upload(path, file, live)).toEqual({ skipped: false });
    expect(await readFile(path)).toEqual(file.content);
    expect((await stat(path)).mode & 0o777).toBe(0o755);
    const { stdout } = await session.execute([path], Buffer.from('echo'), live);
    expect(stdout.toString()).toBe('echo');
    expect(server.commands.some((command) => command.startsWith('cat > '))).toBe(true);
    server.commands.length = 0;
    expect(await session.upload(path, file, live)).toEqual({ skipped: true });
    expect(server.commands.some((command) => command.startsWith('cat > '))).toBe(false);
    expect(await readdir(dir)).toEqual(["it's an agent"]);
  });
  test('that has no room for it either is a RemoteFailure', async () => {
    const { session } = await connect({ cwd: dir });
    const upload = session.upload(join(dir, 'missing/agent'), uploadOf(nothing), live);
    await expect(upload).rejects.toBeInstanceOf(RemoteFailure);
    await expect(upload).rejects.toThrow(/upload .*missing\/agent to root@127\.0\.0\.1/);
  });
});

describe('SFTP without posix-rename', () => {
  test('replaces by removing first', async () => {
    const files = new Map([['/root/agent', Buffer.from('old')]]);
    const { session } = await connect({ sftp: strictSftp(files) });
    const file = uploadOf(Buffer.alloc(100_000, 'new'));
    await session.upload('/root/agent', file, live);
    expect([...files.keys()]).toEqual(['/root/agent']);
    expect(files.get('/root/agent')).toEqual(file.content);
  });
  test('a refused write is a RemoteFailure, and the temporary file is removed', async () => {
    const files = new Map<string, Buffer>();
    const full = (sftp: ssh2.SFTPWrapper) => {
      strictSftp(files)(sftp);
      sftp.removeAllListeners('WRITE');
      sftp.on('WRITE', (id) => sftp.status(id, STATUS_CODE.FAILURE, 'ENOSPC'));
    };
    const { session } = await connect({ sftp: full });
    const upload = session.upload('/root/agent', uploadOf(Buffer.from('x')), live);
    await expect(upload).rejects.toBeInstanceOf(RemoteFailure);
    await expect.poll(() => files.size).toBe(0);
  });
});

describe('a rude machine', () => {
  const execute = async (exec: OddServerOptions['exec'] & {}) => {
    const { session } = await connect({ exec });
    return session.execute(['agent'], nothing, live);
  };
  test('that ends a command without exit status is Unreachable', async () => {
    const running = execute((_command, channel) => channel.end());
    await expect(running).rejects.toBeInstanceOf(Unreachable);
  });
  test('whose command dies of a signal is a RemoteFailure', async () => {
    const running = execute((_command, channel) => {
      channel.exit('KILL', false, '');
      channel.end();
    });
    await expect(running).rejects.toBeInstanceOf(RemoteFailure);
    await expect(running).rejects.toThrow(/SIGKILL/);
  });
  test('that drops the connection during a command is Unreachable', async () => {
    const running = execute((_command, _channel, connection) => connection.end());
    await expect(running).rejects.toBeInstanceOf(Unreachable);
  });
  test('whose exit comes with the channel loses nothing', async () => {
    const { session } = await connect({
      exec: (command, channel) => {
        channel.write(command);
        channel.stderr.write('warning');
        channel.exit(0);
        channel.end();
      },
    });
    for (let round = 0; round < 50; round += 1) {
      const { stdout, stderr } = await session.execute(['run', String(round)], nothing, live);
      expect([stdout.toString(), stderr.toString()]).toEqual([`run ${round}`, 'warning']);
    }
  });
  test.each(['', 'HTTP/1.1 400 Bad Request\r\n\r\n', 'SSH-2.0-x\r\n\0\0\0\0\0'])(
    'that says %j instead of SSH is Unreachable',
    async (text) => {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.resume().end(text);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      ends.push(() => new Promise<void>((resolve) => server.close(() => resolve())));
      const { port } = server.address() as AddressInfo;
      const attempt = shellWith().connect({ host: '127.0.0.1', port, username: 'root' }, live);
      await expect(attempt).rejects.toBeInstanceOf(Unreachable);
    },
  );
  test('a name that does not resolve is Unreachable', async () => {
    const target = { host: 'machine.invalid', port: 22, username: 'root' };
    const attempt = shellWith({ limits: { connectMs: 20_000 } }).connect(target, live);
    await expect(attempt).rejects.toBeInstanceOf(Unreachable);
  });
});

describe('a step that is given up closes the connection', () => {
  const silent = { exec: () => undefined };
  test('when it takes too long', async () => {
    const server = await start(silent);
    const session = await shellWith({ limits: { executeMs: 50 } }).connect(server.target, live);
    await expect(session.execute(['x'], nothing, live)).rejects.toBeInstanceOf(TimedOut);
    await expect.poll(() => server.connections()).toBe(0);
  });
  test('when it is cancelled', async () => {
    const server = await start(silent);
    const session = await shellWith().connect(server.target, live);
    const controller = new AbortController();
    const running = session.execute(['x'], nothing, controller.signal);
    await expect.poll(() => server.commands).toEqual(['x']);
    controller.abort(new Error('shutting down'));
    await expect(running).rejects.toBeInstanceOf(Cancelled);
    await expect(running).rejects.toMatchObject({ cause: { message: 'shutting down' } });
    await expect.poll(() => server.connections()).toBe(0);
  });
  test('and so does closing the session, which cancels what runs', async () => {
    const server = await start(silent);
    const session = await shellWith().connect(server.target, live);
    const running = session.execute(['x'], nothing, live);
    await expect.poll(() => server.commands).toEqual(['x']);
    session.close();
    await expect(running).rejects.toBeInstanceOf(Cancelled);
    await expect.poll(() => server.connections()).toBe(0);
  });
});

test('each call is counted with its outcome', async () => {
  const calls: string[] = [];
  const metrics = {
    adapterCall: (...call: string[]) => calls.push(call.join(' ')),
  } as unknown as Metrics;
  const server = await start({ cwd: dir });
  const session = await shellWith({ metrics }).connect(server.target, live);
  await session.execute(['true'], nothing, live);
  await expect(session.execute(['false'], nothing, live)).rejects.toBeInstanceOf(RemoteFailure);
  await session.upload(join(dir, 'agent'), uploadOf(nothing), live);
  session.close();
  expect(calls).toEqual([
    'ssh connect ok',
    'ssh execute ok',
    'ssh execute remote-failure',
    'ssh upload ok',
  ]);
});
