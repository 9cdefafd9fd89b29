import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  CommandFailed,
  Denied,
  NoCommonProtocol,
  RemoteFailure,
  TimedOut,
  Unreachable,
  UploadFailed,
  UsageError,
} from '../../../src/domain/errors.ts';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import type { ShellSession, ShellTarget } from '../../../src/adapters/ssh/port.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import type { Ssh2ShellOptions } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { uploadOf } from '../../contracts/upload-of.ts';
import { PATIENCE } from '../../support/patience.ts';
import { rawKey } from './keys.ts';
import { sftpOfDisk, startOddServer } from './odd-server.ts';
import type { OddServerOptions } from './odd-server.ts';

const key = parseSshKey(rawKey(), 'key');
const blobOf = ({ publicLine }: { publicLine: string }) => publicLine.split(' ')[1]!;
const live = new AbortController().signal;
const nothing = Buffer.alloc(0);
const { STATUS_CODE } = ssh2.utils.sftp;

const shellWith = (options: Partial<Ssh2ShellOptions> = {}) =>
  createSsh2Shell({ signers: [key], clock: systemClock, log: silentLog, ...options });

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'shepherd-odd-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
});
const start = async (options: OddServerOptions = {}) => {
  const server = await startOddServer(options);
  onTestFinished(server.close);
  return server;
};
const connect = async (options: OddServerOptions = {}) => {
  const server = await start(options);
  const session = await shellWith().connect(server.target, live);
  onTestFinished(session.close);
  return { server, session };
};

const endAtOnce: OddServerOptions['exec'] = (_command, channel) => {
  channel.exit(0);
  channel.end();
};

describe('B4: a password', () => {
  const PASSWORD = { read: () => 'open sesame' };
  const logIn = (server: Awaited<ReturnType<typeof start>>, change: Partial<ShellTarget>) =>
    shellWith().connect({ ...server.target, password: PASSWORD, ...change }, live);

  test('is tried after our keys, once the host has shown its key', async () => {
    const server = await start({ onlyPassword: 'open sesame' });
    (await logIn(server, { hostKey: server.hostKey })).close();
    expect(server.passwordsOffered).toEqual(['open sesame']);
  });

  test.each([
    ['no key is known', null],
    ['another key is known', blobOf(key)],
  ])('is sent nowhere when %s', async (_why, hostKey) => {
    const server = await start({ onlyPassword: 'open sesame' });
    await expect(logIn(server, { hostKey })).rejects.toBeInstanceOf(Denied);
    expect(server.passwordsOffered).toEqual([]);
  });

  test('is not needed if our key is accepted, and is tried once if it is wrong', async () => {
    const open = await start();
    (await logIn(open, { hostKey: open.hostKey })).close();
    const closed = await start({ onlyPassword: 'another' });
    await expect(logIn(closed, { hostKey: closed.hostKey })).rejects.toBeInstanceOf(Denied);
    expect([...open.passwordsOffered, ...closed.passwordsOffered]).toEqual(['open sesame']);
  });

  test('that vanished from its store ends the login before it begins', async () => {
    const server = await start();
    const gone = () => {
      throw new UsageError('refers to ${RACK}, which is not set');
    };
    await expect(logIn(server, { password: { read: gone } })).rejects.toBeInstanceOf(UsageError);
    expect(server.keysOffered).toEqual([]);
  });
});

describe('keys', () => {
  test('are offered in order until one is accepted', async () => {
    const keys = Array.from({ length: 5 }, () => parseSshKey(rawKey(), 'key'));
    const server = await start({ onlyKey: blobOf(keys[3]!) });
    const session = await shellWith({ signers: keys }).connect(server.target, live);
    onTestFinished(session.close);
    expect(server.keysOffered).toEqual(keys.slice(0, 4).map(blobOf));
  });
  test('leave no connection behind when all are refused', async () => {
    const server = await start({ onlyKey: 'none' });
    await expect(shellWith().connect(server.target, live)).rejects.toBeInstanceOf(Denied);
    await expect.poll(() => server.connections()).toBe(0);
  });
  test('must be between one and five, and readable', () => {
    expect(() => shellWith({ signers: [] })).toThrow(UsageError);
    expect(() => shellWith({ signers: [key, key, key, key, key, key] })).toThrow(UsageError);
    expect(() => shellWith({ signers: [{ ...key, privateKey: 'torn' }] })).toThrow(UsageError);
  });
});

describe('root rights', () => {
  test.each([
    ['root', undefined, 'cat x'],
    ['ubuntu', undefined, 'sudo -n cat x'],
    ['ubuntu', 'auto', 'sudo -n cat x'],
    ['ubuntu', 'never', 'cat x'],
    ['root', 'always', 'sudo -n cat x'],
  ] as const)('%s, sudo %s: %s', async (username, sudo, command) => {
    const server = await start({ exec: endAtOnce });
    const shell = shellWith(sudo ? { sudo } : {});
    const session = await shell.connect({ ...server.target, username }, live);
    onTestFinished(session.close);
    await session.execute(['cat', 'x'], nothing, live);
    await session.upload('/root/agent', uploadOf(nothing), live).catch(() => undefined);
    expect(server.commands[0]).toBe(command);
    const elevated = command.startsWith('sudo') ? 'sudo -n sh -c' : 'sh -c';
    for (const step of ['upload-compare', 'upload-install']) {
      const line = server.commands.find((each) => each.includes(` ${step} `));
      expect(line?.slice(0, line.indexOf(` ${step} `))).toContain(elevated);
      expect(line?.includes('sudo')).toBe(command.startsWith('sudo'));
    }
  });
});

describe('SFTP of a server other than OpenSSH', () => {
  const files = async () => (await readdir(dir)).toSorted();
  test('receives the content in smaller pieces', async () => {
    const { session } = await connect({ sftp: sftpOfDisk() });
    const file = uploadOf(randomBytes(1_000_000));
    await session.upload(join(dir, 'agent'), file, live);
    expect((await readFile(join(dir, 'agent'))).equals(file.content)).toBe(true);
    expect(await files()).toEqual(['agent']);
  });
  test('is closed before the file is put in place: until then, dropbear runs no command', async () => {
    const ended: (() => void)[] = [];
    const sftp = sftpOfDisk((each) => {
      each.removeAllListeners('end');
      each.on('end', () => void ended.push(() => each.end()));
    });
    const { session } = await connect({ sftp });
    const file = uploadOf(Buffer.from('x'));
    const upload = session.upload(join(dir, 'agent'), file, live);
    await expect.poll(() => ended.length, PATIENCE).toBe(1);
    for (let times = 0; times < 10; times += 1) await session.execute(['true'], nothing, live);
    expect(await files()).toEqual([expect.stringMatching(/^\.agent\.part-/)]);
    ended[0]!();
    expect(await upload).toEqual({ skipped: false });
    expect(await session.upload(join(dir, 'agent'), file, live)).toEqual({ skipped: true });
    expect(ended, 'not opened for nothing').toHaveLength(1);
  });
  test('reports UploadFailed, and leaves nothing, if it refuses to write', async () => {
    const refusing = sftpOfDisk((sftp) => {
      sftp.removeAllListeners('WRITE');
      sftp.on('WRITE', (id) => sftp.status(id, STATUS_CODE.FAILURE, 'quota'));
    });
    const { session } = await connect({ sftp: refusing });
    const upload = session.upload(join(dir, 'agent'), uploadOf(Buffer.from('x')), live);
    await expect(upload).rejects.toBeInstanceOf(UploadFailed);
    await expect(upload).rejects.toThrow(/write .* was refused/);
    expect(await files()).toEqual([]);
  });
  test('reports UploadFailed, and keeps the old file, if it writes other content', async () => {
    await writeFile(join(dir, 'agent'), 'old');
    const lying = sftpOfDisk((sftp) => {
      const [write] = sftp.listeners('WRITE') as ((...args: unknown[]) => void)[];
      sftp.removeAllListeners('WRITE');
      sftp.on('WRITE', (id, handle, offset, data) => {
        data[0]! ^= 1;
        write!(id, handle, offset, data);
      });
    });
    const { session } = await connect({ sftp: lying });
    const upload = session.upload(join(dir, 'agent'), uploadOf(Buffer.from('new')), live);
    await expect(upload).rejects.toBeInstanceOf(UploadFailed);
    await expect(upload).rejects.toThrow(/differs from what was sent/);
    expect(await files()).toEqual(['agent']);
    expect(await readFile(join(dir, 'agent'), 'utf8')).toBe('old');
  });
  test('ends with the limit of the upload if it never answers', async () => {
    const server = await start({ sftp: (sftp) => void sftp.on('OPEN', () => undefined) });
    const limits = { uploadStallMs: () => 200 };
    const session = await shellWith({ limits }).connect(server.target, live);
    const upload = session.upload(join(dir, 'agent'), uploadOf(Buffer.from('x')), live);
    await expect(upload).rejects.toBeInstanceOf(TimedOut);
    await expect.poll(() => server.connections()).toBe(0);
  });
});

describe('a misbehaving machine', () => {
  test.each<[string, OddServerOptions['exec'] & {}, object]>([
    [
      'ends a command without exit status',
      (_command, channel) => channel.end(),
      { code: 'unreachable' },
    ],
    [
      'drops the connection during a command',
      (_command, _channel, connection) => connection.end(),
      { code: 'unreachable' },
    ],
    [
      'says that a signal ended a command',
      (_command, channel) => {
        channel.exit('KILL', false, '');
        channel.end();
      },
      {
        exitCode: null,
        signalName: 'SIGKILL',
        message: expect.stringMatching(/SIGKILL/),
        constructor: CommandFailed,
      },
    ],
  ])('is reported if it %s', async (_what, exec, why) => {
    const { session } = await connect({ exec });
    await expect(session.execute(['agent'], nothing, live)).rejects.toMatchObject(why);
  });
  test('loses no output if its exit comes with the channel', async () => {
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
  test.each([
    ['nothing', '', Unreachable],
    ['HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n', Unreachable],
    ['a broken packet', 'SSH-2.0-x\r\n\0\0\0\0\0', NoCommonProtocol],
    ['an older protocol', 'SSH-1.5-x\r\n', NoCommonProtocol],
    ['a line without end', 'x'.repeat(9_000), NoCommonProtocol],
    ['lines without end', 'x\r\n'.repeat(2_000), NoCommonProtocol],
  ] as const)('is unreachable if it says %j instead of SSH', async (_name, text, kind) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.resume().end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    const attempt = shellWith().connect({ host: '127.0.0.1', port, username: 'root' }, live);
    await expect(attempt).rejects.toBeInstanceOf(kind);
  });
  test('reports an unresolvable name as Unreachable', async () => {
    const target = { host: 'machine.invalid', port: 22, username: 'root' };
    const attempt = shellWith({ limits: { connectMs: 20_000 } }).connect(target, live);
    await expect(attempt).rejects.toBeInstanceOf(Unreachable);
  });
});

describe('closes the connection when a step is given up', () => {
  type GiveUp = (session: ShellSession, leaving: AbortController) => void;
  test.each<[string, number, GiveUp | null, object]>([
    // The limit may pass before the server has seen the command.
    ['when it takes too long', 50, null, { code: 'timed-out' }],
    [
      'when it is cancelled',
      60_000,
      (_session, leaving) => leaving.abort(new Error('shutting down')),
      { code: 'cancelled', cause: { message: 'shutting down' } },
    ],
    ['when its session is closed', 60_000, (session) => session.close(), { code: 'cancelled' }],
  ])('%s', async (_when, executeMs, giveUp, why) => {
    const server = await start({ exec: () => undefined });
    const session = await shellWith({ limits: { executeMs } }).connect(server.target, live);
    const leaving = new AbortController();
    const running = session.execute(['x'], nothing, leaving.signal);
    const ended = expect(running).rejects.toMatchObject(why);
    if (giveUp !== null) {
      await expect.poll(() => server.commands).toEqual(['x']);
      giveUp(session, leaving);
    }
    await ended;
    await expect.poll(() => server.connections()).toBe(0);
  });
});

test('counts each call with its outcome', async () => {
  const metrics = createMemMetrics();
  const server = await start({ cwd: dir });
  const session = await shellWith({ metrics }).connect(server.target, live);
  await session.execute(['true'], nothing, live);
  await expect(session.execute(['false'], nothing, live)).rejects.toBeInstanceOf(RemoteFailure);
  await session.upload(join(dir, 'agent'), uploadOf(nothing), live);
  session.close();
  const counted = metrics.calls.filter(({ how }) => how === 'count');
  expect(counted.map(({ labels }) => Object.values(labels).join(' '))).toEqual([
    'ssh connect ok',
    'ssh execute ok',
    'ssh execute remote-failure',
    'ssh upload ok',
  ]);
});
