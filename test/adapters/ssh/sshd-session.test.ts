import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandFailed, Denied, RemoteFailure, TimedOut } from '../../../src/domain/errors.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import type { SshKey } from '../../../src/adapters/ssh/key-file.ts';
import { rawKey } from './keys.ts';
import { commandOf, createSshdStand, key, live, nothing, patient } from './sshd-stand.ts';
import type { Sshd, SshdOptions } from './sshd.ts';
import { testRows } from '../../support/rows.ts';

/** Against OpenSSH's real server. */
let stand: ReturnType<typeof createSshdStand>;
beforeEach(() => void (stand = createSshdStand()));
afterEach(() => stand.close());

const running = (sshd: Sshd, program: string) => () =>
  sshd.pids().filter((pid) => commandOf(pid).startsWith(`${program}\0`));

describe('a connection', () => {
  test('offers five keys in order, within the attempts that a server allows', async () => {
    const old = Array.from({ length: 4 }, () => parseSshKey(rawKey(), 'key'));
    const sshd = await stand.sshd();
    await stand.connect(sshd, { signers: [...old, key] });
    const unknown = parseSshKey(rawKey(), 'key');
    const attempt = stand.shellWith({ signers: [...old, unknown] }).connect(sshd.target, live);
    await expect(attempt).rejects.toBeInstanceOf(Denied);
    const offered = () => sshd.log.filter((line) => line.startsWith('Failed publickey'));
    await expect.poll(offered).toHaveLength(9);
  });

  testRows<[string, Partial<SshdOptions>, readonly SshKey[]]>([
    ['a wrong key', { authorizedKeys: [] }, [key]],
    [
      'one try too many',
      { authorizedKeys: [], settings: ['MaxAuthTries 1'] },
      [key, parseSshKey(rawKey(), 'key')],
    ],
    ['a user that may not log in', { settings: ['DenyUsers *'] }, [key]],
  ])('with %s is refused', async (_why, options, signers) => {
    const { target } = await stand.sshd(options);
    const attempt = stand.shellWith({ signers }).connect(target, live);
    await expect(attempt).rejects.toBeInstanceOf(Denied);
  });

  test('ends with the limit on a server that drips a byte a second', async () => {
    const line = await stand.proxy(await stand.sshd(), { downBytesPerSecond: 1 });
    const limits = { handshakeMs: 1_500 };
    const attempt = stand.shellWith({ limits }).connect(line.target, live);
    await expect(attempt).rejects.toBeInstanceOf(TimedOut);
    await expect(attempt).rejects.toThrow(/^log in to /);
  });

  test('uses new keys from the next connection on', async () => {
    const old = parseSshKey(rawKey(), 'key');
    const before = await stand.sshd({ authorizedKeys: [old.publicLine] });
    const after = await stand.sshd();
    const shell = stand.shellWith({ signers: [old] });
    const session = await shell.connect(before.target, live);
    stand.later(() => session.close());
    await expect(shell.connect(after.target, live)).rejects.toBeInstanceOf(Denied);
    shell.setSigners([key, old]);
    for (const { target } of [before, after]) (await shell.connect(target, live)).close();
    await session.execute(['true'], nothing, live);
    expect(() => shell.setSigners([])).toThrow(/no SSH key/);
    (await shell.connect(after.target, live)).close();
  });
});

describe('a command', () => {
  test('gets its input and keeps both outputs, whatever its end is', async () => {
    const session = await stand.connect(await stand.sshd());
    const stdin = randomBytes(900_000);
    const { stdout } = await session.execute(['cat'], stdin, live);
    expect(stdout.equals(stdin)).toBe(true);
    for (const exitCode of [1, 127, 255]) {
      const script = `echo half; echo why >&2; exit ${exitCode}`;
      const failing = session.execute(['sh', '-c', script], nothing, live);
      await expect(failing).rejects.toBeInstanceOf(CommandFailed);
      const end = { exitCode, stdout: Buffer.from('half\n'), stderr: Buffer.from('why\n') };
      await expect(failing).rejects.toMatchObject(end);
    }
    const killed = session.execute(['sh', '-c', 'kill -9 $$'], nothing, live);
    // The login shell may stay in between or not.
    await expect(killed).rejects.toThrow(/SIGKILL|exited with 137/);
  });

  test('is TimedOut if it reads none of its input', async () => {
    const session = await stand.connect(await stand.sshd(), { limits: { executeMs: 700 } });
    const closed = session.execute(['sleep', '1000'], Buffer.alloc(20_000_000), live);
    await expect(closed).rejects.toBeInstanceOf(TimedOut);
  });

  test('is stopped if it writes endlessly, and memory stays bounded', async () => {
    const sshd = await stand.sshd();
    const session = await stand.connect(sshd);
    const beforeBytes = process.memoryUsage().rss;
    const flooding = session.execute(['sh', '-c', 'yes >&2'], nothing, live);
    await expect(flooding).rejects.toBeInstanceOf(RemoteFailure);
    await expect(flooding).rejects.toThrow(/more than 1048576 bytes of output/);
    expect(process.memoryUsage().rss - beforeBytes).toBeLessThan(100_000_000);
    await expect.poll(running(sshd, 'yes'), patient).toEqual([]);
    const { stdout } = await session.execute(['echo', 'still here'], nothing, live);
    expect(stdout.toString()).toBe('still here\n');
  });

  test('is ended by keepalive on a dead line, before its own limit', async () => {
    const sshd = await stand.sshd();
    const line = await stand.proxy(sshd, {});
    const keepalive = { intervalMs: 1_000, missesMax: 3 };
    const session = await stand.connect(line, { keepalive });
    const waiting = session.execute(['sleep', '1000'], nothing, live);
    waiting.catch(() => undefined);
    await expect.poll(running(sshd, 'sleep'), patient).toHaveLength(1);
    line.hold();
    await expect(waiting).rejects.toBeInstanceOf(TimedOut);
    await expect(waiting).rejects.toThrow(/no answer$/);
  });
});
