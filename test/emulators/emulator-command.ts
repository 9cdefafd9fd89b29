import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, expect, onTestFinished } from 'vitest';
import { testRows } from '../support/rows.ts';
import { ROOT } from '../support/document-blocks.ts';

type Child = ChildProcessByStdio<null, Readable, Readable>;
type EmulatorAnswer = readonly [status: number, body: unknown];

/** Starts emulators by their command for one test file, and stops them after each test. */
export function emulatorCommand(env: NodeJS.ProcessEnv = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'emulate-'));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  const file = (called: string, content: string): string => {
    const path = join(directory, called);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  const run = (...args: readonly string[]): Child => {
    const child = spawn(process.execPath, [join(ROOT, 'bin/shepherd.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  return {
    file,
    run,
    /** Starts an emulator. Returns its one line, and its end by a signal, with status 0. */
    async begin<Line>(...args: readonly string[]) {
      const child = run('emulate', ...args);
      child.stderr.resume();
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const end = async () => {
        const exited = once(child, 'exit');
        child.kill('SIGTERM');
        expect(await exited).toEqual([0, null]);
      };
      return { line: JSON.parse(line) as Line, end };
    },
    /** Each row is a mistake: arguments, and its message; `%name%` is a file of `files`. */
    refuses(
      rows: readonly (readonly [args: readonly string[], message: RegExp])[],
      files: Readonly<Record<string, string>>,
    ): void {
      testRows(rows)('reports that %j is a mistake, with exit code 2', async (args, message) => {
        const child = run(
          'emulate',
          ...args.map((arg) => {
            const called = /^%(.*)%$/.exec(arg)?.[1];
            return called === undefined ? arg : file(called, files[called]!);
          }),
        );
        const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
        expect(stderr).toMatch(message);
        expect(stderr).not.toMatch(/^ {4}at /m);
        expect(code).toBe(2);
      });
    },
  };
}

/** The controls of an emulator's owner. */
export function adminOf({ adminUrl, adminToken }: { adminUrl: string; adminToken: string }) {
  const admin = async (path: string, init: RequestInit = {}): Promise<EmulatorAnswer> => {
    const headers = { 'x-fake-admin': adminToken, 'content-type': 'application/json' };
    const reply = await fetch(`${adminUrl}${path}`, { headers, ...init });
    return [reply.status, reply.status === 204 ? null : await reply.json()];
  };
  const send = (method: string, path: string, body: object) =>
    admin(path, { method, body: JSON.stringify(body) });
  const statusOf = async (answer: Promise<EmulatorAnswer>) => (await answer)[0];
  return {
    admin,
    send,
    post: (path: string, body: object) => send('POST', path, body),
    /** Checks guarded controls, the listed fault of its file, and refused unknown faults. */
    async isGuarded() {
      expect(await admin('/healthz', { headers: {} })).toEqual([200, { status: 'ok' }]);
      expect(await statusOf(admin('/state', { headers: {} }))).toBe(401);
      const [, listed] = await admin('/faults');
      expect(listed).toMatchObject({ faults: [{ id: 'file-1', effect: { code: 418 } }] });
      expect(await statusOf(send('POST', '/clock/advance', { ms: 1_000 }))).toBe(200);
      expect(await statusOf(send('POST', '/clock/advance', { ms: -1 }))).toBe(422);
      expect(await statusOf(send('POST', '/faults', { effect: { type: 'unheard' } }))).toBe(422);
      const removal = { method: 'DELETE', headers: { 'x-fake-admin': adminToken } };
      for (const status of [204, 404]) {
        expect(await statusOf(admin('/faults/file-1', removal))).toBe(status);
      }
    },
  };
}
