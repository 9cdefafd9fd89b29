import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../fakequinix/document.ts';

const directory = mkdtempSync(join(tmpdir(), 'fakerobot-command-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
const run = (...args: string[]) => {
  const child = spawn(process.execPath, [join(ROOT, 'bin/shepherd.mjs'), 'fakerobot', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

test('prints one line, has the faults of its file, guards its controls, and ends with a signal', async () => {
  const faults = file('faults.yaml', '- effect: { type: status, code: 418 }\n');
  const child = run('--faults', faults, '--servers', '3', '--clock', 'manual');
  child.stderr.resume();
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { servers, adminUrl, adminToken } = JSON.parse(line) as {
    readonly servers: readonly { readonly number: number }[];
    readonly adminUrl: string;
    readonly adminToken: string;
  };
  expect(servers.map(({ number }) => number)).toEqual([321, 322, 323]);
  const admin = async (path: string, init: RequestInit = {}) => {
    const headers = { 'x-fake-admin': adminToken, 'content-type': 'application/json' };
    const reply = await fetch(`${adminUrl}${path}`, { headers, ...init });
    return [reply.status, reply.status === 204 ? null : await reply.json()];
  };
  const post = (path: string, body: object) =>
    admin(path, { method: 'POST', body: JSON.stringify(body) });
  expect(await admin('/healthz', { headers: {} })).toEqual([200, { status: 'ok' }]);
  expect((await admin('/state', { headers: {} }))[0]).toBe(401);
  const [, listed] = await admin('/faults');
  expect(listed).toMatchObject({ faults: [{ id: 'fault-1', effect: { code: 418 } }] });
  expect((await post('/clock/advance', { ms: 1_000 }))[0]).toBe(200);
  expect((await post('/clock/advance', { ms: -1 }))[0]).toBe(422);
  expect((await post('/faults', { effect: { type: 'inProcess' } }))[0]).toBe(201);
  expect((await post('/faults', { effect: { type: 'unheard' } }))[0]).toBe(422);
  const removal = { method: 'DELETE', headers: { 'x-fake-admin': adminToken } };
  for (const status of [204, 404]) {
    expect((await admin('/faults/fault-1', removal))[0]).toBe(status);
  }
  expect((await post('/servers/9/press', { type: 'hw' }))[0]).toBe(404);
  expect((await post('/servers/322/press', { type: 'warm' }))[0]).toBe(422);
  expect(await post('/servers/322/press', { type: 'hw' })).toMatchObject([200, { phase: 'post' }]);
  expect(await post('/servers/323/crash', {})).toMatchObject([200, { phase: 'disk' }]);
  expect(await post('/servers/323/rename', { name: 'x' })).toMatchObject([200, { name: 'x' }]);
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test.each([
  [['--servers', '0'], /--servers /],
  [['--faults', '%route%'], /no route \/nowhere/],
])('%j is a mistake that is told in a word, with exit code 2', async (args, message) => {
  const route = '- { match: { route: /nowhere }, effect: { type: inProcess } }\n';
  const child = run(...args.map((arg) => (arg === '%route%' ? file('route.yaml', route) : arg)));
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(code).toBe(2);
});
