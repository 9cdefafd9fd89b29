import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { expect, vi } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { openAudit } from '../../../src/commands/scenarios/audit.ts';
import { servedOutOfTurn } from '../../../src/commands/scenarios/turns.ts';
import { poolOf, SIM_PROVIDER, simInput, openSimWorld } from '../../../src/commands/sim-world.ts';
import { SIM_POOL } from '../../../src/commands/sim-pool.ts';
import type { ConfigInput } from '../../../src/config.ts';
import { takeFreePort } from '../../../src/simulator/hosts/free-port.ts';
import { isActive, readServers } from '../../../src/simulator/haproxy/status.ts';
import type { ServedRequest } from '../../../src/simulator/hosts/options.ts';
import { startTraffic } from '../../../src/simulator/traffic/traffic.ts';
import { shepherd } from '../../e2e/commands.ts';
import { openTestDatabase } from '../../support/test-database.ts';
import { createDaemonProcess, type DaemonProcess } from '../daemon-processes.ts';

/** What a busy computer needs for machines that are rebooted while daemons are killed. */
export const WAIT = { timeout: 600_000, interval: 100 };

export interface BalancedOptions {
  readonly machines: number;
  readonly daemons: number;
  readonly atOnce?: number;
  /** Absent: HAProxy. */
  readonly by?: 'engine';
}

/** Its sessions are known by where its console is. */
export interface PooledDaemon extends DaemonProcess {
  readonly consoleUrl: string;
}

export type BalancedFleet = Awaited<ReturnType<typeof openBalancedFleet>>;

/** Daemons as processes of their own, over one world with a pool. None is started. */
export async function openBalancedFleet(options: BalancedOptions) {
  const { machines, daemons: count, atOnce, by = 'haproxy' } = options;
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const close = async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };
  try {
    const world = await openSimWorld({
      machines,
      light: true,
      log: silentLog,
      pool: { isNeeded: true, by, ...(atOnce !== undefined && { atOnce }) },
    });
    cleanups.push(() => world.close());
    const pool = poolOf(world)!;
    const database = await openTestDatabase();
    cleanups.push(() => database.stop());
    const audit = await openAudit(database.ownerUrl);
    cleanups.push(() => audit.close());
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    await owner.connect();
    cleanups.push(() => owner.end());

    const ports = new Set<number>();
    const agentPort = await takeFreePort(ports);
    const env = {
      SHEPHERD_TEST_TOKEN: world.fakequinix.tokens.project,
      SHEPHERD_TEST_DATABASE: database.url,
    };
    const configOf = (place: number, consolePort: number): ConfigInput => {
      const input = simInput(world);
      // The Engine tells no connections: whoever is drained there waits as long as grace is.
      if (by === 'engine') input.pools![SIM_POOL]!.drain = { grace: '1s' };
      return {
        ...input,
        database: { url: '${SHEPHERD_TEST_DATABASE}' },
        session: { interval: '3s' },
        providers: {
          [SIM_PROVIDER]: { ...input.providers[SIM_PROVIDER]!, token: '${SHEPHERD_TEST_TOKEN}' },
        },
        // While the daemon is dead that they report to, agents are silent: nobody is lost by that.
        agent: {
          heartbeatPeriod: '1s',
          heartbeatDeadline: '2m',
          firstHeartbeatDeadline: '2m',
          endpoint: `127.0.0.1:${agentPort}`,
        },
        agentServer: { ...input.agentServer, listen: `127.0.0.1:${place === 0 ? agentPort : 0}` },
        console: { listen: `127.0.0.1:${consolePort}` },
        log: { format: 'json' },
      };
    };
    const daemons: PooledDaemon[] = [];
    for (let place = 0; place < count; place += 1) {
      const consolePort = await takeFreePort(ports);
      const config = configOf(place, consolePort);
      const daemon = createDaemonProcess(world.dir, `daemon-${place}`, config, env);
      cleanups.push(() => daemon.stop());
      daemons.push({ ...daemon, consoleUrl: `http://127.0.0.1:${consolePort}/` });
    }

    const served: ServedRequest[] = [];
    cleanups.push(world.hosts.watchRequests((request) => served.push(request)));
    const rows = async <Row extends pg.QueryResultRow>(text: string, ...values: unknown[]) =>
      (await owner.query<Row>(text, values)).rows;
    return {
      world,
      pool,
      daemons,
      audit,
      rows,
      close,
      /** Runs a command with the configuration of the first daemon. */
      command: (...args: readonly string[]) =>
        shepherd([...args, '--config', daemons[0]!.file], env).ended,
      /** Clients, from now on. */
      send() {
        const traffic = startTraffic({
          to: pool.clients,
          perSecond: 50,
          held: 10,
          holdMs: [1_000, 3_000],
          chance: Math.random,
        });
        cleanups.push(() => traffic.stop());
        return traffic;
      },
      outOfTurn: async () => servedOutOfTurn(served, await audit.memberships()),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** All machines get traffic, by HAProxy's own word. */
export const allActive = ({ world, pool }: BalancedFleet) =>
  vi.waitFor(async () => {
    const servers = await readServers(pool.haproxy!);
    expect(servers.filter(isActive)).toHaveLength(world.machines);
  }, WAIT);

/**
 * What HAProxy runs and what it would start with are the same: for each machine one server, and nothing
 * that is nobody's.
 */
export async function expectNoTwins({ world, pool }: BalancedFleet): Promise<void> {
  const servers = await readServers(pool.haproxy!);
  const names = servers.map(({ backend, server }) => `${backend}/${server}`);
  expect(new Set(names).size, 'no server twice').toBe(names.length);
  expect(new Set(servers.map(({ backend }) => backend)).size, 'one backend').toBe(1);
  const files = readdirSync(pool.haproxy!.poolsDir);
  expect(files.filter((name) => name.endsWith('.cfg'))).toHaveLength(1);
  const text = readPoolFile(pool);
  const addresses = world.hosts.list().map(({ address }) => `${address}:${pool.internalPort}`);
  const ends = [...text.matchAll(/^\s+server \S+ (\S+)/gm)].map(([, end]) => end!);
  expect(ends.toSorted(), 'each machine once in the file').toEqual(addresses.toSorted());
  expect(text.match(/^frontend /gm)).toHaveLength(1);
  expect(text.match(/^\s+bind /gm)).toHaveLength(1);
}

/** Empty: there is none yet. */
export function readPoolFile({ haproxy }: BalancedFleet['pool']): string {
  const { poolsDir } = haproxy!;
  const [name] = readdirSync(poolsDir).filter((each) => each.endsWith('.cfg'));
  const path = name === undefined ? undefined : join(poolsDir, name);
  return path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : '';
}
