import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  Cancelled,
  CommandFailed,
  Denied,
  FleetError,
  RemoteFailure,
  TimedOut,
  Unreachable,
} from '../../src/domain/errors.ts';
import { outputBytesMax } from '../../src/adapters/ssh/limits.ts';
import type { RemoteShell, ShellSession, ShellTarget } from '../../src/adapters/ssh/port.ts';
import { PATIENCE } from '../support/patience.ts';
import type { VirtualClock } from '../doubles/simulated-clock.ts';
import { uploadOf } from './upload-of.ts';

/** Limit of the handshake and of a command, in the stand's time. Other steps have no such limit. */
export const LIMIT_MS = 700;

/** Machines and a shell to reach them, with a limit of `LIMIT_MS` on handshake and command. */
export interface ShellStand {
  /** The shell's clock. No step times out unless a test lets time pass. */
  readonly clock: VirtualClock;
  readonly shell: RemoteShell;
  /** Accepts our key and knows the programs below. */
  readonly open: ShellTarget;
  readonly openHostKey: string;
  /** Another machine that accepts our key. */
  readonly other: ShellTarget;
  /** Refuses our key. */
  readonly strict: ShellTarget;
  /** Accepts connections and sends nothing. */
  readonly silent: ShellTarget;
  /** Nobody listens. */
  readonly absent: ShellTarget;
  readonly programs: {
    /** Prints its arguments after the first, one per line. */
    readonly printsArguments: readonly string[];
    /** Writes `broken` to stderr and exits with 3. */
    readonly fails: readonly string[];
    readonly hangs: readonly string[];
    /** Writes more than a shell accepts. */
    readonly floods: readonly string[];
  };
  /** The file at that path on `open`. */
  readBack(path: string): Promise<{ content: Buffer; mode: number } | undefined>;
  /** `open` loses power for a moment: its boot id changes and sessions break. */
  reboot(): Promise<void>;
  close(): Promise<void>;
}

const bootIdPath = '/proc/sys/kernel/random/boot_id';
const nothing = Buffer.alloc(0);

/** What every {@link RemoteShell} must do. */
export function shellContract(name: string, start: () => Promise<ShellStand>): void {
  describe(`shell contract: ${name}`, () => {
    let stand: ShellStand;
    let session: ShellSession;
    const live = new AbortController().signal;
    beforeEach(async () => {
      stand = await start();
      session = await stand.shell.connect(stand.open, live);
    });
    afterEach(async () => {
      session.close();
      await stand.close();
    });
    const execute = (argv: readonly string[], stdin = nothing) =>
      session.execute(argv, stdin, live);
    /** Lets the limit of the running or the next step pass. */
    const passLimit = async () => {
      await vi.waitUntil(() => stand.clock.untilNext() === LIMIT_MS, PATIENCE);
      stand.clock.increment(LIMIT_MS);
    };

    test('reports the proved host key', async () => {
      expect(session.hostKey).toBe(stand.openHostKey);
      const other = await stand.shell.connect(stand.other, live);
      expect(other.hostKey).not.toBe(session.hostKey);
      other.close();
    });
    test('reports a refused key as Denied', async () => {
      const attempt = stand.shell.connect(stand.strict, live);
      await expect(attempt).rejects.toBeInstanceOf(Denied);
    });
    test('reports a missing listener as Unreachable', async () => {
      const attempt = stand.shell.connect(stand.absent, live);
      await expect(attempt).rejects.toBeInstanceOf(Unreachable);
    });
    test('reports a machine that never answers as TimedOut', async () => {
      const attempt = expect(stand.shell.connect(stand.silent, live));
      const ended = attempt.rejects.toBeInstanceOf(TimedOut);
      await passLimit();
      await ended;
    });

    test('gives the command its stdin and EOF, and returns its output', async () => {
      const stdin = randomBytes(200_000);
      const { stdout, stderr } = await execute(['cat'], stdin);
      expect(stdout.equals(stdin)).toBe(true);
      expect(stderr).toHaveLength(0);
      expect((await execute(['cat'])).stdout).toHaveLength(0);
    });
    test('passes arguments unchanged', async () => {
      const odd = [
        'a b',
        "it's",
        '$HOME',
        '`id`',
        '*',
        '',
        'two\nlines',
        '"q"',
        '\\',
        '!',
        '~',
        ';',
      ];
      const argv = [...stand.programs.printsArguments, ...odd];
      expect((await execute(argv)).stdout.toString()).toBe(odd.map((arg) => `${arg}\n`).join(''));
    });
    test('reports a non-zero exit as CommandFailed with the output and keeps the session', async () => {
      const failure = execute(stand.programs.fails);
      await expect(failure).rejects.toBeInstanceOf(CommandFailed);
      await expect(failure).rejects.toThrow(/broken/);
      const end = await failure.catch((error: unknown) => error);
      const { exitCode, stderr } = end as CommandFailed;
      expect([exitCode, Buffer.from(stderr).toString().trim()]).toEqual([3, 'broken']);
      expect((await execute(['cat'], Buffer.from('still here'))).stdout.toString()).toBe(
        'still here',
      );
    });
    test('reports too much output as RemoteFailure and accepts the permitted amount', async () => {
      await expect(execute(stand.programs.floods)).rejects.toBeInstanceOf(RemoteFailure);
      const full = Buffer.alloc(outputBytesMax, 'x');
      expect((await execute(['cat'], full)).stdout).toHaveLength(outputBytesMax);
    });
    test('ends a command that does not end, and its session, as TimedOut', async () => {
      const ended = expect(execute(stand.programs.hangs)).rejects.toBeInstanceOf(TimedOut);
      await passLimit();
      await ended;
      await expect(execute(['cat'])).rejects.toBeInstanceOf(Unreachable);
    });

    test('uploads a file with its mode, and skips a file that exists already', async () => {
      const first = uploadOf(randomBytes(300_000));
      expect(await session.upload('/root/agent', first, live)).toEqual({ skipped: false });
      const found = await stand.readBack('/root/agent');
      expect(found?.content.equals(first.content)).toBe(true);
      expect(found?.mode).toBe(0o755);
      expect(await session.upload('/root/agent', first, live)).toEqual({ skipped: true });
    });
    test('replaces a file of equal size, and sets the mode of an equal file', async () => {
      const first = uploadOf(Buffer.from('one'));
      const second = uploadOf(Buffer.from('two'), 0o700);
      await session.upload('/root/a file', first, live);
      expect(await session.upload('/root/a file', second, live)).toEqual({ skipped: false });
      expect(await stand.readBack('/root/a file')).toEqual({
        content: second.content,
        mode: 0o700,
      });
      const again = { ...second, mode: 0o755 };
      expect(await session.upload('/root/a file', again, live)).toEqual({ skipped: true });
      expect((await stand.readBack('/root/a file'))?.mode).toBe(0o755);
    });
    test('uploads an empty file', async () => {
      expect(await session.upload('/root/empty', uploadOf(nothing), live)).toEqual({
        skipped: false,
      });
      expect((await stand.readBack('/root/empty'))?.content).toHaveLength(0);
    });

    test('reports a signal that fired before connect as Cancelled', async () => {
      const attempt = stand.shell.connect(stand.open, AbortSignal.abort());
      await expect(attempt).rejects.toBeInstanceOf(Cancelled);
    });
    const steps: readonly [string, (signal: AbortSignal) => Promise<unknown>][] = [
      ['connect', (signal) => stand.shell.connect(stand.silent, signal)],
      ['upload', (signal) => session.upload('/root/big', uploadOf(randomBytes(3_000_000)), signal)],
      ['execute', (signal) => session.execute(stand.programs.hangs, nothing, signal)],
    ];
    for (const [step, begin] of steps) {
      test(`reports a signal that fires during ${step} as Cancelled`, async () => {
        const controller = new AbortController();
        const running = begin(controller.signal);
        queueMicrotask(() => controller.abort());
        await expect(running).rejects.toBeInstanceOf(Cancelled);
        if (step === 'connect') return;
        await expect(execute(['cat'])).rejects.toBeInstanceOf(FleetError);
        expect(await stand.readBack('/root/big')).toBeUndefined();
      });
    }

    test('loses the session and sees another boot id after a reboot', async () => {
      const before = (await execute(['cat', bootIdPath])).stdout.toString().trim();
      await stand.reboot();
      await expect(execute(['cat'])).rejects.toBeInstanceOf(Unreachable);
      session = await stand.shell.connect(stand.open, live);
      const after = (await execute(['cat', bootIdPath])).stdout.toString().trim();
      expect(before).toMatch(/^[0-9a-f-]{36}$/);
      expect(after).toMatch(/^[0-9a-f-]{36}$/);
      expect(after).not.toBe(before);
    });
    test('closes for good and accepts a second close', async () => {
      session.close();
      session.close();
      await expect(execute(['cat'])).rejects.toBeInstanceOf(Cancelled);
    });
  });
}
