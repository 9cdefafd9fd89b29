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

/** Limit on handshake and execution, in the time of the stand: of no other step. */
export const LIMIT_MS = 700;

/** Machines and a shell towards them, with a limit of `LIMIT_MS` on handshake and execution. */
export interface ShellStand {
  /** Of the shell: no step is late unless time is let pass. */
  readonly clock: VirtualClock;
  readonly shell: RemoteShell;
  /** Lets us in and knows the programs below. */
  readonly open: ShellTarget;
  readonly openHostKey: string;
  /** Another machine that lets us in. */
  readonly other: ShellTarget;
  /** Refuses our key. */
  readonly strict: ShellTarget;
  /** Accepts connections and never says a word. */
  readonly silent: ShellTarget;
  /** Nobody listens. */
  readonly absent: ShellTarget;
  readonly programs: {
    /** Prints its arguments after the first, one to a line. */
    readonly printsArguments: readonly string[];
    /** Writes `broken` to stderr and exits with 3. */
    readonly fails: readonly string[];
    readonly hangs: readonly string[];
    /** Writes more than a shell will take. */
    readonly floods: readonly string[];
  };
  /** What lies under that path on `open`. */
  readBack(path: string): Promise<{ content: Buffer; mode: number } | undefined>;
  /** `open` loses its power for a moment: its boot id changes, sessions break. */
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
    /** Lets the limit of the step that is under way pass, or will be at once. */
    const passLimit = async () => {
      await vi.waitUntil(() => stand.clock.untilNext() === LIMIT_MS, PATIENCE);
      stand.clock.increment(LIMIT_MS);
    };

    test('reports the host key that was proved', async () => {
      expect(session.hostKey).toBe(stand.openHostKey);
      const other = await stand.shell.connect(stand.other, live);
      expect(other.hostKey).not.toBe(session.hostKey);
      other.close();
    });
    test('a refused key is Denied', async () => {
      const attempt = stand.shell.connect(stand.strict, live);
      await expect(attempt).rejects.toBeInstanceOf(Denied);
    });
    test('no listener is Unreachable', async () => {
      const attempt = stand.shell.connect(stand.absent, live);
      await expect(attempt).rejects.toBeInstanceOf(Unreachable);
    });
    test('a machine that never answers is TimedOut', async () => {
      const attempt = expect(stand.shell.connect(stand.silent, live));
      const ended = attempt.rejects.toBeInstanceOf(TimedOut);
      await passLimit();
      await ended;
    });

    test('gives stdin to the command, then EOF, and returns what it wrote', async () => {
      const stdin = randomBytes(200_000);
      const { stdout, stderr } = await execute(['cat'], stdin);
      expect(stdout.equals(stdin)).toBe(true);
      expect(stderr).toHaveLength(0);
      expect((await execute(['cat'])).stdout).toHaveLength(0);
    });
    test('arguments arrive as they are', async () => {
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
    test('a non-zero exit is CommandFailed with what was written, and the session lives on', async () => {
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
    test('too much output is a RemoteFailure, and as much as allowed is not', async () => {
      await expect(execute(stand.programs.floods)).rejects.toBeInstanceOf(RemoteFailure);
      const full = Buffer.alloc(outputBytesMax, 'x');
      expect((await execute(['cat'], full)).stdout).toHaveLength(outputBytesMax);
    });
    test('a command that does not end is TimedOut, and the session with it', async () => {
      const ended = expect(execute(stand.programs.hangs)).rejects.toBeInstanceOf(TimedOut);
      await passLimit();
      await ended;
      await expect(execute(['cat'])).rejects.toBeInstanceOf(Unreachable);
    });

    test('puts a file there, with its mode, and skips it when it is there already', async () => {
      const first = uploadOf(randomBytes(300_000));
      expect(await session.upload('/root/agent', first, live)).toEqual({ skipped: false });
      const found = await stand.readBack('/root/agent');
      expect(found?.content.equals(first.content)).toBe(true);
      expect(found?.mode).toBe(0o755);
      expect(await session.upload('/root/agent', first, live)).toEqual({ skipped: true });
    });
    test('replaces a file of the same size, and sets the mode of one that is the same', async () => {
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
    test('puts an empty file there', async () => {
      expect(await session.upload('/root/empty', uploadOf(nothing), live)).toEqual({
        skipped: false,
      });
      expect((await stand.readBack('/root/empty'))?.content).toHaveLength(0);
    });

    test('a signal that fired before connect is Cancelled', async () => {
      const attempt = stand.shell.connect(stand.open, AbortSignal.abort());
      await expect(attempt).rejects.toBeInstanceOf(Cancelled);
    });
    const steps: readonly [string, (signal: AbortSignal) => Promise<unknown>][] = [
      ['connect', (signal) => stand.shell.connect(stand.silent, signal)],
      ['upload', (signal) => session.upload('/root/big', uploadOf(randomBytes(3_000_000)), signal)],
      ['execute', (signal) => session.execute(stand.programs.hangs, nothing, signal)],
    ];
    for (const [step, begin] of steps) {
      test(`a signal that fires during ${step} is Cancelled`, async () => {
        const controller = new AbortController();
        const running = begin(controller.signal);
        queueMicrotask(() => controller.abort());
        await expect(running).rejects.toBeInstanceOf(Cancelled);
        if (step === 'connect') return;
        await expect(execute(['cat'])).rejects.toBeInstanceOf(FleetError);
        expect(await stand.readBack('/root/big')).toBeUndefined();
      });
    }

    test('a reboot breaks the session and changes the boot id', async () => {
      const before = (await execute(['cat', bootIdPath])).stdout.toString().trim();
      await stand.reboot();
      await expect(execute(['cat'])).rejects.toBeInstanceOf(Unreachable);
      session = await stand.shell.connect(stand.open, live);
      const after = (await execute(['cat', bootIdPath])).stdout.toString().trim();
      expect(before).toMatch(/^[0-9a-f-]{36}$/);
      expect(after).toMatch(/^[0-9a-f-]{36}$/);
      expect(after).not.toBe(before);
    });
    test('close is final and may be repeated', async () => {
      session.close();
      session.close();
      await expect(execute(['cat'])).rejects.toBeInstanceOf(Cancelled);
    });
  });
}
