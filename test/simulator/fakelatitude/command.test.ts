import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../fakequinix/document.ts';

const directory = mkdtempSync(join(tmpdir(), 'fakelatitude-command-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};
const run = (...args: string[]) => {
  const launcher = join(ROOT, 'bin/shepherd.mjs');
  const child = spawn(process.execPath, [launcher, 'fakelatitude', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

test('prints one line, has the stock and faults of its files, guards its controls, and ends with a signal', async () => {
  const faults = file('faults.yaml', '- effect: { type: status, code: 418 }\n  times: 1\n');
  const stock = file('stock.yaml', 'c3-small-x86: { ASH: 3 }\n');
  const plans = ['--plans', 'c3-small-x86,m4-metal-large'];
  const child = run('--faults', faults, '--stock', stock, ...plans, '--clock', 'manual');
  child.stderr.resume();
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const told = JSON.parse(line) as Record<
    'url' | 'token' | 'project' | 'reservedProject' | 'otherToken' | 'adminUrl' | 'adminToken',
    string
  >;
  expect([told.project, told.reservedProject]).toEqual([
    expect.stringMatching(/^proj_\w+$/),
    expect.stringMatching(/^proj_\w+$/),
  ]);
  const read = async (token: string) => {
    const reply = await fetch(`${told.url}/plans`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return reply.status;
  };
  expect([await read(told.token), await read(told.token), await read(told.otherToken)]).toEqual([
    418, 200, 200,
  ]);
  const admin = async (path: string, init: RequestInit = {}) => {
    const headers = { 'x-fake-admin': told.adminToken, 'content-type': 'application/json' };
    const reply = await fetch(`${told.adminUrl}${path}`, { headers, ...init });
    return [reply.status, reply.status === 204 ? null : await reply.json()];
  };
  const send = (method: string, path: string, body: object) =>
    admin(path, { method, body: JSON.stringify(body) });
  expect(await admin('/healthz', { headers: {} })).toEqual([200, { status: 'ok' }]);
  expect((await admin('/state', { headers: {} }))[0]).toBe(401);
  expect((await admin('/healthz', { headers: { 'x-fake-admin': 'wrong' } }))[0]).toBe(200);
  expect((await admin('/faults'))[1]).toMatchObject({ faults: [{ id: 'fault-1', applied: 1 }] });
  const { stock: left } = (await admin('/state'))[1] as { stock: Record<string, object> };
  expect(left['c3-small-x86']).toMatchObject({ ASH: 3, SAO: 0 });
  expect(left['m4-metal-large']).toMatchObject({ ASH: 0 });
  const place = { plan: 'c3-small-x86', site: 'ASH' };
  expect((await send('PUT', '/stock', { ...place, count: 7 }))[0]).toBe(200);
  expect((await send('PUT', '/stock', { ...place, plan: 'none', count: 7 }))[0]).toBe(404);
  expect((await send('POST', '/clock/advance', { ms: 1_000 }))[0]).toBe(200);
  expect((await send('POST', '/clock/advance', { ms: -1 }))[0]).toBe(422);
  expect((await send('PATCH', '/knobs', { pageSizeMax: 50 }))[1]).toMatchObject({
    pageSizeMax: 50,
  });
  expect((await send('PATCH', '/knobs', { colour: 'red' }))[0]).toBe(422);
  expect((await send('POST', '/faults', { effect: { type: 'unheard' } }))[0]).toBe(422);
  const [, { token }] = (await send('POST', '/tokens', {})) as [number, { token: string }];
  expect(await read(token)).toBe(200);
  expect((await admin('/requests?since=x'))[0]).toBe(422);
  expect((await admin('/requests?since=3'))[1]).toMatchObject({ requests: [{ seq: 4 }] });
  const removal = { method: 'DELETE', headers: { 'x-fake-admin': told.adminToken } };
  for (const status of [204, 404]) {
    expect((await admin('/faults/fault-1', removal))[0]).toBe(status);
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test.each([
  [['--stock', '%site%'], /OSLO/],
  [['--faults', '%route%'], /no route \/nowhere/],
])('%j is a mistake that is told in a word, with exit code 2', async (args, message) => {
  const files: Readonly<Record<string, string>> = {
    '%site%': 'c3-small-x86: { OSLO: 1 }\n',
    '%route%': '- { match: { route: /nowhere }, effect: { type: quota } }\n',
  };
  const child = run(
    ...args.map((arg) => (files[arg] === undefined ? arg : file('mistake.yaml', files[arg]))),
  );
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(code).toBe(2);
});
