import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { vi } from 'vitest';
import { stringify } from 'yaml';
import { chooseAccount } from '../../src/adapters/bmdb/embedded/postgres-binaries.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { WAIT } from '../e2e/commands.ts';
import { startTcpProxy, type TcpProxy } from '../faults/tcp-proxy.ts';
import { descendantsOf, mentioning, signalAll } from './processes.ts';

const run = promisify(execFile);

/** `strict`: a commit is answered when a standby has it; without a standby it waits. */
export type Replication = 'strict' | 'asynchronous';

const BIN = process.env['SHEPHERD_TEST_POSTGRES_BIN'] ?? '/usr/lib/postgresql/15/bin';
const SCOPE = 'bmdb';
/** Seconds. Shorter than Patroni's defaults, in the same proportion. */
const PATRONI_TIMES = { ttl: 10, loop_wait: 1, retry_timeout: 3 };

/** One PostgreSQL server with its Patroni. */
export interface PatroniNode {
  readonly name: string;
  /** For clients, without a proxy. */
  readonly port: number;
  /** Ends it and its server as a power cut does. */
  kill(): void;
  start(): void;
  /** Stops every process of it, as a hypervisor does; they find out nothing. */
  freeze(on: boolean): void;
  /** Cuts it off from etcd and from the other nodes; clients still reach it. */
  isolate(on: boolean): void;
}

export interface PatroniCluster {
  readonly nodes: readonly PatroniNode[];
  /** All hosts, for a role of {@link ROLES}. */
  url(role: keyof typeof ROLES): string;
  /** The node that Patroni calls the leader and that accepts writes; null: none. */
  primary(): Promise<PatroniNode | null>;
  /** Waits until there is a primary other than `than`. */
  otherPrimary(than: PatroniNode | null): Promise<PatroniNode>;
  /** Waits until every node replicates, one of them synchronously if commits wait for that. */
  whole(): Promise<void>;
  /** `patronictl switchover` to a standby of Patroni's choice. */
  switchover(from: PatroniNode): Promise<void>;
  /** Runs one statement on the primary as the owner of the schema. */
  sql<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  stop(): Promise<void>;
}

const ROLES = { owner: 'bmdb_owner', daemon: 'bmdb' } as const;
const DATABASE = 'bmdb';

/**
 * Starts etcd and three nodes, each behind proxies of its own.
 * @throws {Error} a program is missing, with its Debian package.
 */
export async function startPatroni(dir: string, mode: Replication): Promise<PatroniCluster> {
  for (const [file, name] of Object.entries(PROGRAMS)) {
    if (!existsSync(file)) throw new Error(`${file} is missing: install ${name}`);
  }
  const account = await chooseAccount();
  /** Processes that ended by themselves. */
  const surprises: string[] = [];
  const taken = new Set<number>();
  const secret = randomBytes(12).toString('hex');
  const cleanups: (() => Promise<void> | void)[] = [];
  const start = (name: string, file: string, args: readonly string[]): ChildProcess => {
    const log = openSync(join(dir, `${name}.log`), 'a', 0o600);
    const child = spawn(file, args, {
      ...account,
      cwd: '/',
      stdio: ['ignore', log, log],
      env: { ...process.env, LC_ALL: 'C', PGPASSFILE: '/dev/null' },
    });
    closeSync(log);
    return child;
  };
  const directory = (name: string): string => {
    const made = join(dir, name);
    mkdirSync(made, { mode: 0o700 });
    if (account) chownSync(made, account.uid, account.gid);
    return made;
  };

  const [etcdPort, peerPort] = [await takeFreePort(taken), await takeFreePort(taken)];
  const at = (port: number) => `127.0.0.1:${port}`;
  const etcd = start('etcd', '/usr/bin/etcd', [
    ...['--name', 'etcd', '--data-dir', directory('etcd')],
    ...['--listen-client-urls', `http://${at(etcdPort)}`],
    ...['--advertise-client-urls', `http://${at(etcdPort)}`],
    ...['--listen-peer-urls', `http://${at(peerPort)}`],
    ...['--initial-advertise-peer-urls', `http://${at(peerPort)}`],
    ...['--initial-cluster', `etcd=http://${at(peerPort)}`],
  ]);
  cleanups.push(() => ended(etcd, 'SIGKILL'));
  await vi.waitUntil(async () => {
    const version = await fetch(`http://${at(etcdPort)}/version`).then(
      async (answer) => (await answer.json()) as { etcdcluster: string },
      () => null,
    );
    return /^\d/.test(version?.etcdcluster ?? '');
  }, WAIT);

  const node = async (number: number) => {
    const name = `node${number}`;
    const [port, restPort] = [await takeFreePort(taken), await takeFreePort(taken)];
    const proxies = await Promise.all(
      [port, restPort, etcdPort].map((to) => startTcpProxy(() => to)),
    );
    const [ofServer, ofRest, ofEtcd] = proxies as [TcpProxy, TcpProxy, TcpProxy];
    cleanups.push(async () => void (await Promise.all(proxies.map((each) => each.close()))));
    const home = directory(name);
    const file = join(home, 'patroni.yml');
    const patroni = {
      scope: SCOPE,
      name,
      restapi: { listen: at(restPort), connect_address: at(ofRest.port) },
      etcd3: { host: at(ofEtcd.port), use_proxies: true },
      bootstrap: bootstrapOf(mode),
      postgresql: {
        listen: at(port),
        connect_address: at(ofServer.port),
        data_dir: join(home, 'data'),
        bin_dir: BIN,
        pgpass: join(home, 'pgpass'),
        authentication: {
          superuser: { username: 'postgres', password: secret },
          replication: { username: 'replicator', password: secret },
        },
        // The test is about dying processes, not power cuts, so nothing waits for the disk.
        parameters: { unix_socket_directories: home, fsync: 'off' },
        basebackup: { checkpoint: 'fast' },
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    };
    writeFileSync(file, stringify(patroni), { mode: 0o600 });
    if (account) chownSync(file, account.uid, account.gid);
    let child: ChildProcess | null = null;
    let stopped: readonly number[] = [];
    const every = () => {
      const servers = mentioning(join(home, 'data'));
      const roots = [...(child?.pid === undefined ? [] : [child.pid]), ...servers];
      return [...roots, ...descendantsOf(roots)];
    };
    const kill = () => {
      const all = every();
      child = null;
      signalAll(all, 'SIGKILL');
    };
    cleanups.push(kill);
    const begin = () => {
      const started = start(name, '/usr/bin/patroni', [file]);
      started.on('exit', (code) => {
        if (child === started) surprises.push(`${name} ended with ${code}`);
      });
      child = started;
    };
    return {
      name,
      port,
      rest: `http://${at(restPort)}`,
      start: begin,
      kill,
      freeze(on: boolean) {
        // What was stopped is continued for certain, even if it cannot be found now.
        const all = [...stopped, ...every()];
        stopped = on ? all : [];
        signalAll(all, on ? 'SIGSTOP' : 'SIGCONT');
      },
      isolate: (on: boolean) => proxies.forEach((each) => (on ? each.hold() : each.release())),
      /** Makes a standby anew, from its primary. */
      renew() {
        kill();
        rmSync(join(home, 'data'), { recursive: true, force: true, maxRetries: 5 });
        begin();
      },
    };
  };
  const nodes = [await node(1), await node(2), await node(3)];

  const urlOf = (role: string, hosts: readonly PatroniNode[], name = DATABASE) =>
    `postgres://${role}:${secret}@${hosts.map(({ port }) => at(port)).join(',')}/${name}` +
    '?target_session_attrs=read-write';
  const ask = async (url: string, text: string, values: readonly unknown[] = []) => {
    const client = new pg.Client({
      ...{ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 60_000 },
    });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      void client.end().catch(() => undefined);
    }
  };
  const primary = async () => {
    const answers = await Promise.all(nodes.map(({ rest }) => statusOf(rest, '/primary')));
    return nodes[answers.indexOf(200)] ?? null;
  };
  const otherPrimary = (than: PatroniNode | null) =>
    vi.waitUntil(async () => {
      if (surprises.length > 0) throw new Error(surprises.join());
      const found = await primary();
      return found !== than && found;
    }, WAIT);
  const superuser = (on: PatroniNode, name: string) =>
    urlOf('postgres', [on], name).replace(/\?.*/, '');
  const whole = async () => {
    const looks = new Map<PatroniNode, number>();
    await vi.waitUntil(async () => {
      const on = await primary();
      if (!on) return false;
      const [now] = await ask(
        superuser(on, 'postgres'),
        `SELECT ARRAY(SELECT application_name FROM pg_stat_replication
                        WHERE state = 'streaming') AS names`,
      ).catch(() => []);
      if (!now) return false;
      const apart = nodes.filter((each) => each !== on && !now.names.includes(each.name));
      for (const each of apart) {
        looks.set(each, (looks.get(each) ?? 0) + 1);
        if (looks.get(each)! < STRAY_LOOKS) continue;
        looks.clear();
        console.log(`${each.name} does not follow ${on.name}: made anew`);
        each.renew();
      }
      if (apart.length > 0) return false;
      if (mode !== 'strict') return true;
      // Only a node that Patroni has noted as synchronous can take over.
      const answers = await Promise.all(nodes.map(({ rest }) => statusOf(rest, '/synchronous')));
      return answers.includes(200);
    }, WAIT);
  };

  try {
    nodes[0]!.start();
    const first = await otherPrimary(null);
    for (const each of nodes.slice(1)) each.start();
    for (const role of Object.values(ROLES)) {
      await ask(superuser(first, 'postgres'), `CREATE ROLE ${role} LOGIN PASSWORD '${secret}'`);
    }
    await ask(superuser(first, 'postgres'), `CREATE DATABASE ${DATABASE} OWNER ${ROLES.owner}`);
    await whole();
  } catch (error) {
    const said = nodes.map(({ name }) =>
      readFileSync(join(dir, `${name}.log`), 'utf8').slice(-1_500),
    );
    await stop();
    throw new Error(`Patroni did not start: ${said.join('\n')}`, { cause: error });
  }
  async function stop(): Promise<void> {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  }
  return {
    nodes,
    url: (role) => urlOf(ROLES[role], nodes),
    primary,
    otherPrimary,
    whole,
    async switchover(from) {
      const config = join(dir, from.name, 'patroni.yml');
      const args = ['-c', config, 'switchover', SCOPE, '--leader', from.name, '--force'];
      const { stdout, stderr } = await run('patronictl', args, { ...account, cwd: '/' });
      // It ends with 0 in any case. A slow switchover is told as unknown: who leads tells the rest.
      if (!/success|status unknown/i.test(stdout))
        throw new Error(`no switchover: ${stdout} ${stderr}`);
    },
    async sql<Row>(text: string, values?: readonly unknown[]) {
      for (let attempts = 1; ; attempts += 1) {
        try {
          const on = await primary();
          if (!on) throw new Error('there is no primary');
          const url = urlOf(ROLES.owner, [on]).replace(/\?.*/, '');
          return (await ask(url, text, values)) as Row[];
        } catch (error) {
          if (attempts === 100) throw error;
          await setTimeout(300);
        }
      }
    },
    stop,
  };
}

const PROGRAMS: Readonly<Record<string, string>> = {
  '/usr/bin/patroni': 'patroni',
  '/usr/bin/etcd': 'etcd-server',
  [`${BIN}/postgres`]: 'postgresql-15',
};

const bootstrapOf = (mode: Replication) => ({
  dcs: {
    ...PATRONI_TIMES,
    // A server that was killed is not restarted as primary: another takes over.
    master_start_timeout: 0,
    maximum_lag_on_failover: 1_048_576,
    synchronous_mode: mode === 'strict',
    synchronous_mode_strict: mode === 'strict',
    postgresql: { use_pg_rewind: true, use_slots: true, parameters: { max_connections: 100 } },
  },
  initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums', 'no-sync'],
  pg_hba: [
    'local all all scram-sha-256',
    'host replication replicator 127.0.0.1/32 scram-sha-256',
    'host all all 127.0.0.1/32 scram-sha-256',
  ],
});

/**
 * At least half a minute. With Patroni 3.0.2 some standbys never follow again until a person helps:
 * - If a standby is cut off while it shuts down, two Patroni processes can run in its data directory
 *   and copy the primary into it. It then waits until the primary has written as much WAL as it has.
 * - If a frozen primary takes the lead back, the standby of its successor is one timeline ahead. It
 *   refuses the older one, or PostgreSQL ends as soon as it starts (`unexpected timeline ID`).
 */
const STRAY_LOOKS = 300;

/** A frozen node does not answer. */
const LOOK_MS = 2_000;

const statusOf = (rest: string, path: string): Promise<number | null> =>
  fetch(rest + path, { signal: AbortSignal.timeout(LOOK_MS) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.status;
    },
    () => null,
  );

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill(signal);
  await gone;
}
