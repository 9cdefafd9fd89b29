import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { ROOT } from '../fakequinix/document.ts';

const directory = mkdtempSync(join(tmpdir(), 'fakengine-command-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string, content: string): string => {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
};

const run = (...args: string[]) => {
  const child = spawn(process.execPath, [join(ROOT, 'bin/shepherd.mjs'), 'fakengine', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
};

test('prints one line, has the faults of its file, and ends with a signal', async () => {
  const faults = file(
    'faults.yaml',
    '- match: { route: /api/LBaaS/v1/backend.json }\n  effect: { type: status, code: 418 }\n',
  );
  const child = run(
    '--faults',
    faults,
    '--seed',
    '9',
    '--state-delay',
    '0s',
    '--load-balancers',
    '1',
    '--rows',
    'full',
  );
  child.stderr.resume();
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  const { url, adminUrl, tokens, loadBalancers } = JSON.parse(line) as {
    readonly url: string;
    readonly adminUrl: string;
    readonly tokens: { readonly api: string; readonly admin: string };
    readonly loadBalancers: readonly string[];
  };
  expect([adminUrl, loadBalancers.length]).toEqual([`${url}/_fake/v1`, 1]);
  const headers = { authorization: `Token ${tokens.api}` };
  const list = await fetch(`${url}/api/LBaaS/v1/backend.json`, { headers });
  expect(list.status).toBe(418);
  const one = await fetch(`${url}/api/LBaaS/v1/loadbalancer.json/${loadBalancers[0]}`, { headers });
  expect(await one.json()).toMatchObject({ name: 'lb-1', state: { id: '3' } });
  const knobs = await fetch(`${adminUrl}/knobs`, { headers: { 'x-fake-admin': tokens.admin } });
  expect(await knobs.json()).toMatchObject({ rows: 'full' });
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
});

test.each([
  [['--seed', '-1'], /--seed /],
  [['--listen', '0.0.0.0:0'], /--listen .*loopback/],
  [['--state-delay', 'soon'], /--state-delay .*duration/],
  [['--rows', 'some'], /--rows .*short, full/],
  [['--faults', '/nowhere/faults.yaml'], /\/nowhere\/faults\.yaml cannot be read/],
  [['--faults', '%text%'], /holds no list/],
  [['--faults', '%route%'], /no route \/nowhere/],
])('%j is a mistake that is told in a word, with exit code 2', async (args, message) => {
  const files: Record<string, string> = {
    '%text%': file('text.yaml', 'a: 1\n'),
    '%route%': file('route.yaml', '- { match: { route: /nowhere }, effect: { type: twin } }\n'),
  };
  const child = run(...args.map((arg) => files[arg] ?? arg));
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  expect(stderr).toMatch(message);
  expect(stderr).not.toMatch(/^ {4}at /m);
  expect(code).toBe(2);
});
