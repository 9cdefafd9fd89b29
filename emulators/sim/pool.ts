import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../src/adapters/log/port.ts';
import type { ConfigInput } from '../../src/config.ts';
import { startAnexiaEmulator } from '../anexia/emulator.ts';
import { findHaproxy, startHaproxy, type Haproxy } from '../haproxy/haproxy-process.ts';
import { isPortFree, takeFreePort } from '../../src/adapters/network/free-port.ts';
import { hasLoopbackNetwork } from '../hosts/serving/addresses.ts';

/** Changes to the default pool. */
export interface PoolWishes {
  /** Requires HAProxy; otherwise an emulator replaces a missing HAProxy. */
  readonly needsHaproxy: boolean;
  /** Maximum number of planned interruptions at once. */
  readonly atOnce?: number;
}

/** A simulated fleet's pool and its balancer. */
export interface SimPool {
  /** Service port of each machine. */
  readonly internalPort: number;
  /** The clients' address; the emulator's leads nowhere. */
  readonly clients: { readonly host: string; readonly port: number };
  /** Parts of the daemon's configuration. */
  readonly input: Required<Pick<ConfigInput, 'balancers' | 'pools'>>;
  /** Null: the balancer is an emulator of the Anexia Engine. */
  readonly haproxy: Haproxy | null;
  close(): Promise<void>;
  /** Kills it, without waiting. */
  abandon(): void;
}

/** Why the pool is impossible here, and what to do about it. */
export interface NoPool {
  readonly missing: string;
}

export const NO_HAPROXY = 'HAProxy is not installed (Debian: apt-get install haproxy)';
export const SIM_POOL = 'web';
export const SIM_BALANCER = 'balancer';
export const SIM_PORT = 'http';
const LOOPBACK = '127.0.0.1';
/** An address for documentation (RFC 5737): nobody is there. */
const NOWHERE = '192.0.2.10';

type PoolOptions = PoolWishes & { readonly dir: string; readonly log: Log };

/** Starts a balancer below `dir`; the next run with the same directory has the same ports. */
export async function openSimPool(options: PoolOptions): Promise<SimPool | NoPool> {
  const { dir, needsHaproxy } = options;
  const hasHaproxy = findHaproxy() !== null;
  if (needsHaproxy && !hasHaproxy) return { missing: NO_HAPROXY };
  if (!(await hasLoopbackNetwork())) {
    return { missing: 'machines need addresses of 127.0.0.0/8, which this system does not have' };
  }
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const internalPort = await keptPoolPort('internal-port', options);
  const opened = hasHaproxy ? await openHaproxy(options) : await openEngine(options);
  const { settings, ...rest } = opened;
  return { ...rest, internalPort, input: inputOf(settings, rest.clients, internalPort, options) };
}

async function openHaproxy(options: PoolOptions) {
  const { dir, log } = options;
  const clients = { host: LOOPBACK, port: await keptPoolPort('external-port', options) };
  const haproxy = await startHaproxy({
    dir,
    onDeath: (words) => log.error({ words }, 'HAProxy ended by itself'),
  });
  const { masterSocket, poolsDir, baseFile, program } = haproxy;
  return {
    clients,
    settings: { driver: 'haproxy', masterSocket, poolsDir, baseFiles: [baseFile], program },
    haproxy,
    close: () => haproxy.stop(),
    abandon: () => haproxy.abandon(),
  };
}

async function openEngine({ dir }: PoolOptions) {
  const listen = { host: LOOPBACK, port: 0 };
  const engine = await startAnexiaEmulator({ listen, stateDelayMs: 500 });
  const tokenFile = join(dir, 'token');
  // Recreated, so that the mode is this file's, not an old file's.
  rmSync(tokenFile, { force: true });
  writeFileSync(tokenFile, engine.token, { mode: 0o600, flag: 'wx' });
  return {
    clients: { host: NOWHERE, port: 80 },
    settings: {
      driver: 'anexia',
      baseUrl: engine.url,
      token: `file:${tokenFile}`,
      loadBalancer: engine.loadBalancers[0]!,
    },
    haproxy: null,
    close: () => engine.close(),
    abandon: () => undefined,
  };
}

const inputOf = (
  settings: NonNullable<SimPool['input']['balancers']>[string],
  { host, port: external }: SimPool['clients'],
  internal: number,
  { atOnce = 1 }: PoolWishes,
): SimPool['input'] => ({
  balancers: { [SIM_BALANCER]: settings },
  pools: {
    [SIM_POOL]: {
      balancers: [SIM_BALANCER],
      addresses: [host],
      ports: { [SIM_PORT]: { external, internal } },
      select: {},
      drain: { atOnce },
    },
  },
});

const keptPoolPort = (name: string, { dir, log }: PoolOptions): Promise<number> =>
  keptPort(join(dir, name), (port) =>
    log.warn({ port }, 'a port of the pool was taken; it has a new one'),
  );

/** The file's port if it is free; otherwise a new port, which is written to the file. */
export async function keptPort(file: string, onTaken: (port: number) => void): Promise<number> {
  const known = existsSync(file) ? Number(readFileSync(file, 'utf8')) : null;
  if (known !== null && (await isPortFree(known))) return known;
  if (known !== null) onTaken(known);
  const port = await takeFreePort(new Set());
  writeFileSync(file, String(port), { mode: 0o600 });
  return port;
}
