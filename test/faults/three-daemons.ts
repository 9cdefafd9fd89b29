import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { ConfigInput } from '../../src/config.ts';
import { startFakequinix } from '../../src/simulator/fakequinix/fakequinix.ts';
import { takeFreePort } from '../../src/simulator/hosts/free-port.ts';
import { createSimulatedHosts } from '../../src/simulator/hosts/simulated-hosts.ts';
import { shepherd } from '../e2e/commands.ts';
import { createDaemonProcess, type DaemonProcess } from './daemon-processes.ts';
import { startLyingProxy, type LyingProxy } from './lying-proxy.ts';
import { startRestartablePostgres } from './postgres.ts';

const MACHINES = 2;
export const OWNER = 'three-fleet-000000000000001';
export const PREFIX = 'shepherd-three-';
const DAEMONS = 3;

export interface ProxiedDaemon extends DaemonProcess {
  readonly proxy: LyingProxy;
  readonly consoleUrl: string;
}

export type ThreeDaemons = Awaited<ReturnType<typeof openThreeDaemons>>;

/**
 * Three `shepherd run` at default pacing over one PostgreSQL and one provider with machines, each
 * with a proxy of its own before the provider; and one in a hurry, which brings the machines up.
 */
export async function openThreeDaemons() {
  const dir = mkdtempSync(join(tmpdir(), 'shepherd-three-'));
  // Not below the other: a server of before version 16 needs to pass through the directory above its own.
  const above = mkdtempSync(join(tmpdir(), 'shepherd-three-'));
  const cleanups = [dir, above].map(
    (each): (() => Promise<void> | void) =>
      () =>
        rmSync(each, { recursive: true, force: true, maxRetries: 5 }),
  );
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const postgres = await startRestartablePostgres(join(above, 'postgres'));
    cleanups.push(() => postgres.stop());
    const hosts = createSimulatedHosts({
      dir: join(dir, 'machines'),
      log: silentLog,
      random: systemRandom,
    });
    cleanups.push(() => hosts.close());
    const fake = await startFakequinix({
      listen: { host: '127.0.0.1', port: 0 },
      profile: 'fast',
      reservations: MACHINES,
      hooks: hosts,
    });
    cleanups.push(() => fake.close());
    const ports = new Set<number>();
    const agentPort = await takeFreePort(ports);
    const env = {
      SHEPHERD_TEST_TOKEN: fake.tokens.user,
      SHEPHERD_TEST_DATABASE: postgres.daemonUrl(postgres.port()),
    };
    const configOf = (place: number, baseUrl: string, consolePort: number): ConfigInput => ({
      database: { url: '${SHEPHERD_TEST_DATABASE}' },
      providers: {
        equinix: {
          driver: 'equinix',
          baseUrl,
          token: '${SHEPHERD_TEST_TOKEN}',
          username: 'three',
          projectId: fake.projectId,
          devicePrefix: PREFIX,
          instanceSetId: OWNER,
          sshKeyLabel: 'shepherd-three',
          sshPortFromCustomdata: true,
        },
      },
      agent: { endpoint: `127.0.0.1:${agentPort}` },
      ssh: { keyPath: join(dir, 'ssh-key') },
      agentServer: {
        listen: `127.0.0.1:${place === 0 ? agentPort : 0}`,
        devCertificates: { dir: join(dir, 'certificates') },
      },
      mirror: { listInterval: '20s' },
      console: { listen: `127.0.0.1:${consolePort}` },
      log: { format: 'json' },
    });
    const daemons: ProxiedDaemon[] = [];
    for (let place = 0; place < DAEMONS; place += 1) {
      const proxy = await startLyingProxy(fake.url);
      cleanups.push(() => proxy.goAway());
      const consolePort = await takeFreePort(ports);
      const config = configOf(place, proxy.url, consolePort);
      const daemon = createDaemonProcess(dir, `daemon-${place}`, config, env);
      cleanups.push(() => daemon.stop());
      const consoleUrl = `http://127.0.0.1:${consolePort}`;
      daemons.push({ ...daemon, proxy, consoleUrl });
    }
    const [{ consoleUrl }] = daemons as [ProxiedDaemon];
    const hurried = hurry(configOf(0, fake.url, Number(new URL(consoleUrl).port)));
    const first = createDaemonProcess(dir, 'hurried', hurried, env);
    cleanups.push(() => first.stop());
    return {
      dir,
      postgres,
      fake,
      hosts,
      first,
      env,
      close,
      daemons: daemons as unknown as readonly [ProxiedDaemon, ProxiedDaemon, ProxiedDaemon],
      /** Runs a command with the configuration of the first daemon. */
      command: (...args: readonly string[]) =>
        shepherd([...args, '--config', daemons[0]!.file], env).ended,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const hurry = (config: ConfigInput): ConfigInput => ({
  ...config,
  providers: {
    equinix: {
      ...config.providers['equinix'],
      apiRate: '5ms',
      callsPerSecond: 0,
      reservationCacheTimeout: '1s',
    } as never,
  },
  provisioner: { reconcilerRate: '1s', deviceCreationRate: '20ms' },
  mirror: { listInterval: '1s' },
});
