import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { rawKey } from '../adapters/ssh/keys.ts';
import { shepherd } from './commands.ts';

const dir = mkdtempSync(join(tmpdir(), 'shepherd-hang-up-'));
afterAll(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }));

const inventory = join(dir, 'inventory.json');
const list = (...ids: string[]) =>
  writeFileSync(
    inventory,
    JSON.stringify(ids.map((ID, at) => ({ ID, Addr: `127.0.0.${at + 1}`, Location: 'rack-7' }))),
  );

test('reads inventory and SSH keys again on SIGHUP; reports invalid ones and keeps the old', async () => {
  list('srv-1');
  const file = join(dir, 'shepherd.yaml');
  const config = {
    database: { embedded: { dataDir: join(dir, 'postgres') } },
    providers: {
      racks: {
        driver: 'static',
        inventory: `file:${inventory}`,
        refresh: '1h',
        probePort: 1,
        instanceSetId: 'tests-racks-000000000000001',
      },
    },
    provisioner: { maxMachines: 1 },
    ssh: { keyPath: join(dir, 'ssh-key'), previousKeyPaths: [join(dir, 'ssh-key.old')] },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: join(dir, 'certificates') } },
    console: { listen: '127.0.0.1:0' },
    log: { format: 'json' },
  };
  writeFileSync(file, JSON.stringify(config));
  const { child, ended, said } = shepherd(['run', '--config', file]);
  // Whole lines only.
  const until = (text: string, times = 1) =>
    said((log) => log.slice(0, log.lastIndexOf('\n') + 1).split(text).length > times && log);
  try {
    await until('daemon started');
    list('srv-1', 'srv-2');
    child.kill('SIGHUP');
    const again = await until('the provider was reloaded');
    expect(again).not.toContain('is refused');
    writeFileSync(inventory, '[{"ID": "srv-1"}]');
    child.kill('SIGHUP');
    const kept = await until('the inventory is unusable; the last good copy stays in use');
    expect(kept).toContain('Addr is missing');
    renameSync(join(dir, 'ssh-key'), join(dir, 'ssh-key.old'));
    child.kill('SIGHUP');
    await until('the SSH keys could not be read again');
    writeFileSync(join(dir, 'ssh-key'), rawKey(), { mode: 0o400 });
    child.kill('SIGHUP');
    const loaded = await until('SSH key loaded', 2);
    const [before, after] = loaded
      .split('\n')
      .filter((line) => line.includes('SSH key loaded'))
      .map((line) => JSON.parse(line) as { fingerprint: string; previous: string[] });
    expect(after!.fingerprint).not.toBe(before!.fingerprint);
    expect(after!.previous).toEqual([before!.fingerprint]);
  } finally {
    child.kill('SIGTERM');
  }
  expect((await ended).code).toBe(0);
});
