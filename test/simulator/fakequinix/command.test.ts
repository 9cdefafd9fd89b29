import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { judgedChild } from '../../published/children.ts';
import { ROOT } from './document.ts';

const directory = mkdtempSync(join(tmpdir(), 'fakequinix-command-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
};

const run = (...args: string[]) => {
  const child = spawn(process.execPath, [join(ROOT, 'bin/shepherd.mjs'), 'fakequinix', ...args], {
    env: { ...process.env, ...judgedChild },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

interface Line {
  readonly url: string;
  readonly adminUrl: string;
  readonly projectId: string;
  readonly tokens: Readonly<Record<string, string>>;
}

/** Starts it and answers its one line, and how to end it. */
async function begin(...args: string[]) {
  const child = run(...args);
  child.stderr.resume();
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const end = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    return ((await exited) as [number])[0];
  };
  return { line: JSON.parse(line) as Line, end };
}

describe('shepherd fakequinix', () => {
  test('prints one line; the same seed gives the same world, and ends with a signal', async () => {
    const options = ['--seed', '9', '--clock', 'manual', '--reservations', '2'];
    const one = await begin(...options);
    const headers = { 'x-fake-admin': one.line.tokens['admin']! };
    const clock = await fetch(`${one.line.adminUrl}/clock`, { headers });
    expect(await clock.json()).toMatchObject({ mode: 'manual' });
    expect(await one.end()).toBe(0);
    const again = await begin(...options);
    expect(again.line.projectId).toBe(one.line.projectId);
    expect(Object.values(again.line.tokens)).not.toEqual(
      expect.arrayContaining([expect.toBeOneOf(Object.values(one.line.tokens))]),
    );
    await again.end();
    const other = await begin('--seed', '10');
    expect(other.line.projectId).not.toBe(one.line.projectId);
    await other.end();
  });

  test('serves below another base path, and a world from a file', async () => {
    const world = file('world.yaml', 'projects: [{ name: a }]\nknobs: { maxPerPage: 2 }\n');
    const { line, end } = await begin('--base-path', '/x/y', '--world', world);
    expect(line.url).toMatch(/:\d+\/x\/y$/);
    const init = { headers: { 'x-auth-token': line.tokens['user']! } };
    const path = `/projects/${line.projectId}/hardware-reservations?per_page=9`;
    const response = await fetch(`${line.url}${path}`, init);
    const body = (await response.json()) as { hardware_reservations: unknown[] };
    expect([response.status, body.hardware_reservations.length]).toEqual([200, 2]);
    await end();
  });

  test.each([
    [['--base-path', '/_fake/v1'], /--base-path .*\/_fake is taken/],
    [['--base-path', 'metal'], /--base-path /],
    [['--clock', 'sand'], /--clock .*real, manual/],
    [['--seed', '-1'], /--seed /],
    [['--listen', '0.0.0.0:0'], /--listen .*loopback/],
    [['--world', '%world%'], /reservations\[0\]\.plan: unknown plan "none"/],
    [['--state', '%state%'], /is not a Fakequinix state file/],
  ])('%j is a mistake that is told in a word, with exit code 2', async (args, message) => {
    const files: Record<string, string> = {
      '%world%': file('wrong.yaml', 'reservations: [{ plan: none }]\n'),
      '%state%': file('wrong.json', '{}'),
    };
    const child = run(...args.map((arg) => files[arg] ?? arg));
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(code).toBe(2);
  });
});
