import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import { inventoryOf } from '../../../emulators/redfish/machines/inventory.ts';
import { createFishMachines } from '../../../emulators/redfish/machines/machines.ts';
import type { RedfishEmulatorOptions } from '../../../emulators/redfish/options.ts';
import { createSimulatedHosts } from '../../../emulators/hosts/simulated-hosts.ts';
import { key, live, nothing } from '../hosts/stand.ts';
import { startFish } from './harness.ts';

/** An emulator with machines behind its systems. */
export async function startRack({
  installed = false,
  seedUrl,
  ...options
}: Partial<RedfishEmulatorOptions> & { installed?: boolean; seedUrl?: string } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-rack-'));
  const hosts = createSimulatedHosts({
    dir,
    log: silentLog,
    random: systemRandom,
    light: true,
    throwaway: true,
  });
  onTestFinished(() => hosts.close().then(() => rm(dir, { recursive: true, force: true })));
  const machines = createFishMachines({
    hosts,
    log: silentLog,
    ...(seedUrl !== undefined && { seedUrl }),
    ...(installed && { installed: [key.publicLine] }),
  });
  const fish = await startFish({ hooks: machines.hooks, startsOn: installed, ...options });
  const shell = createSsh2Shell({ signers: [key], clock: systemClock, log: silentLog });
  /** What a command of the first machine writes, over SSH at the address of the inventory. */
  async function run(...command: string[]): Promise<string> {
    const [line] = inventoryOf(fish.fake, hosts, true);
    const target = { host: line!.Addr, port: line!.SshPort, username: 'root' };
    const session = await shell.connect(target, live);
    try {
      const { stdout } = await session.execute(command, nothing, live);
      return stdout.toString();
    } finally {
      session.close();
    }
  }
  const bootId = async () => (await run('cat', '/proc/sys/kernel/random/boot_id')).trim();
  const host = (name = 'system-1') => hosts.list().find(({ deviceId }) => deviceId === name)!;
  return { ...fish, hosts, machines, host, run, bootId, key };
}

export const TOKEN = 'abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst';

/** What a seed server is asked for, and what it answers. */
export async function startSeed() {
  const asked: string[] = [];
  const served = new Map<string, string>();
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    asked.push(`${method} ${url.replaceAll(TOKEN, '*')}`);
    request.resume();
    const text = method === 'POST' ? '' : served.get(url);
    response.writeHead(text === undefined ? 404 : 200, { connection: 'close' }).end(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const config = {
    hostname: 'a1',
    ssh_authorized_keys: [key.publicLine],
    runcmd: [
      '#!/bin/sh\numask 0177\nprintf %s s3cret > /root/secret',
      ['mkdir', '-p', '/root/b c'],
    ],
  };
  served.set(`/s/${TOKEN}/meta-data`, 'instance-id: a1.1\nlocal-hostname: a1\n');
  served.set(`/s/${TOKEN}/user-data`, `#cloud-config\n${stringify(config)}`);
  return { url, asked, served };
}
