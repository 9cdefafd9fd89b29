import { createServer } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createSimulatedHosts } from '../../../emulators/hosts/simulated-hosts.ts';
import { listenAt } from '../../../emulators/kit/listen.ts';
import { createRackMachines } from '../../../emulators/redfish/machines/machines.ts';
import { key } from '../hosts/stand.ts';
import { startBmcs } from './harness.ts';

/** An emulator with machines behind its systems. */
export async function startRack({ systems = 1, installed = false } = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-rack-'));
  const hosts = createSimulatedHosts({
    ...{ dir, log: silentLog, random: systemRandom, light: true, throwaway: true },
  });
  onTestFinished(() => hosts.close().then(() => rm(dir, { recursive: true, force: true })));
  const machines = createRackMachines({
    ...{ hosts, log: silentLog },
    ...(installed && { installed: [key.publicLine] }),
  });
  const { hooks } = machines;
  const bmcs = await startBmcs({ hooks, startsOn: installed, systems, bmcs: 1 });
  const host = (name = 'system-1') => hosts.list().find(({ deviceId }) => deviceId === name)!;
  const installs = () => machines.installs('system-1');
  /** The next boot starts an installer. */
  const installFrom = async (HttpBootUri: string) => {
    const target = { BootSourceOverrideTarget: 'UefiHttp', HttpBootUri };
    await bmcs.override({ BootSourceOverrideEnabled: 'Once', ...target });
  };
  return { ...bmcs, hosts, host, installs, installFrom };
}

const TOKEN = 'abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst';
const SEED = `#cloud-config\n${JSON.stringify({ hostname: 'a1', ssh_authorized_keys: [key.publicLine] })}`;

/** Requests to a seed server; `status` is its answer. */
export async function startSeed() {
  const asked: string[] = [];
  const server = { status: 200 };
  const http = createServer((request, response) => {
    const { method = '', url = '' } = request;
    asked.push(`${method} ${url.replaceAll(TOKEN, '*')}`);
    request.resume();
    response.writeHead(server.status, { connection: 'close' }).end(SEED);
  });
  const { host, port, close } = await listenAt(http, { host: '127.0.0.1', port: 0 });
  onTestFinished(close);
  return { asked, server, installer: `http://${host}:${port}/images/${TOKEN}.iso` };
}
