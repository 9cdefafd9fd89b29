import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import type { ShellSession, ShellTarget } from '../../../src/adapters/ssh/port.ts';
import { createSsh2Shell } from '../../../src/adapters/ssh/ssh2-shell.ts';
import type { Ssh2ShellOptions } from '../../../src/adapters/ssh/ssh2-shell.ts';
import type { SimulatedDevice } from '../../../emulators/kit/hooks.ts';
import type { SimulatedHostsOptions } from '../../../emulators/hosts/options.ts';
import { createSimulatedHosts } from '../../../emulators/hosts/simulated-hosts.ts';
import { rawKey } from '../../adapters/ssh/keys.ts';

export const live = new AbortController().signal;
export const nothing = Buffer.alloc(0);
export const key = parseSshKey(rawKey(), 'key');

type ShellOptions = Pick<Partial<Ssh2ShellOptions>, 'limits' | 'keepalive'>;
/** A good login takes its time on a busy machine; a test of a bad login gives it less. */
const AMPLE = { connectMs: 30_000, handshakeMs: 30_000 };
/** Limit of a login that is never answered. */
export const SOON: ShellOptions = { limits: { handshakeMs: 700 } };

/** A directory of simulated machines, a shell towards them, and the end of both. */
export async function createStand() {
  const dir = await mkdtemp(join(tmpdir(), 'shepherd-hosts-'));
  const sessions = new Set<ShellSession>();
  const ports = new Map<string, number>();
  const create = (options: Partial<SimulatedHostsOptions> = {}) =>
    createSimulatedHosts({ dir, log: silentLog, random: systemRandom, ...options });
  let hosts = create();
  const described = (id: string, more: Partial<SimulatedDevice> = {}): SimulatedDevice => ({
    id,
    hostname: `host-${id}`,
    authorizedKeys: [key.publicLine],
    ...more,
  });
  const rootOn = (id: string): ShellTarget => ({
    host: '127.0.0.1',
    port: ports.get(id)!,
    username: 'root',
  });
  const connect = async (id: string, changes: ShellOptions = {}, target = rootOn(id)) => {
    const shell = createSsh2Shell({
      signers: [key],
      limits: AMPLE,
      clock: systemClock,
      log: silentLog,
      ...changes,
    });
    const session = await shell.connect(target, live);
    sessions.add(session);
    return session;
  };
  return {
    dir,
    connect,
    hosts: () => hosts,
    port: (id: string) => ports.get(id)!,
    async raise(id: string, authorizedKeys = [key.publicLine], changes?: ShellOptions) {
      const { sshPort } = await hosts.assign(described(id, { authorizedKeys }));
      ports.set(id, sshPort);
      await hosts.up(id);
      return connect(id, changes);
    },
    /** Its place, switched off. */
    assign: (id: string) => hosts.assign(described(id)),
    /** Like `raise`, with user data. */
    async install(id: string, userdata: string) {
      const { sshPort } = await hosts.assign(described(id, { userdata }));
      ports.set(id, sshPort);
      await hosts.up(id);
    },
    reinstall: (id: string, more?: Partial<SimulatedDevice>) =>
      hosts.reinstalled(id, described(id, more)),
    snapshot: (id: string) => hosts.list().find(({ deviceId }) => deviceId === id)!,
    /** As after the end of the process: a new simulator finds the directory. */
    async replace(options: Partial<SimulatedHostsOptions> = {}, closeFirst = true) {
      if (closeFirst) await hosts.close();
      hosts = create(options);
    },
    async close() {
      for (const session of sessions) session.close();
      await hosts.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
export type HostsStand = Awaited<ReturnType<typeof createStand>>;

/** Every process whose environment names the directory. */
export const processesUnder = (dir: string) =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/environ`, 'utf8').includes(`=${dir}/`);
      } catch {
        return false;
      }
    })
    .map(Number);

/** State letter in /proc; `-` if there is none. */
export function processState(pid: number): string {
  try {
    return /^State:\s+(\w)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '-';
  } catch {
    return '-';
  }
}

/** A dead process may wait for its parent, which does not matter here. */
export const isAlive = (pid: number) => !['-', 'Z', 'X'].includes(processState(pid));

/** Files that this process holds open there. */
export const openFilesUnder = (dir: string) =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${dir}/`) ? [path] : [];
    } catch {
      return [];
    }
  });
