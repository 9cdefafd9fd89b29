import type { ChildProcess } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import { createClientIdentity, generateRawKeyPair } from '../../../src/agent/keys.ts';
import { HEARTBEAT_PATH } from '../../../src/wire/codec.ts';
import { ask, endChild, startChild } from './children.ts';
import type { Database, Server } from './database.ts';

export const ECHO_PATH = '/bench.Echo/Echo';
const PERIOD_SECONDS = 30;

export interface ServeRequest {
  readonly tls: { readonly key: string; readonly cert: string };
  /** What answers: heartbeats go into the database or into memory; the others know none. */
  readonly behind: 'database' | 'memory' | 'nothing' | 'nothing, in the clear' | 'echo';
  readonly url: string;
}

/** Of a server since it began. */
export interface Spent {
  readonly cpuUs: number;
  readonly memoryKb: number;
}

/** PEM. */
interface Identity {
  readonly ca: string;
  readonly key: string;
  readonly cert: string;
}

export type LoadRequest =
  /** One connection each, kept; null: in the clear. */
  | {
      readonly kind: 'open';
      readonly port: number;
      readonly path: string;
      readonly callers: readonly (Identity | null)[];
    }
  | { readonly kind: 'closed'; readonly warmMs: number; readonly spanMs: number }
  /** Agents take turns on the connections: agent `n` calls on connection `n` modulo their number. */
  | {
      readonly kind: 'paced';
      readonly agents: number;
      readonly perSecond: number;
      readonly warmMs: number;
      readonly spanMs: number;
    };

export interface Paced {
  /** The warm-up included. */
  readonly all: number;
  readonly failed: number;
  /** Without the warm-up. */
  readonly p99Ms: number;
}

/** Servers of heartbeats, to be measured. */
export interface HeartbeatBench {
  /** Heartbeats per second through mutual TLS into the database, by 200 connections. */
  ours(): Promise<number>;
  /** Unary echoes per second of @grpc/grpc-js over TLS, with the same callers and messages. */
  echo(): Promise<number>;
  /** A fleet whose agents come at their period, whatever became of the others. */
  openLoop(progress: (line: string) => void): Promise<OpenLoop>;
  close(): void;
}

export interface OpenLoop {
  /** The largest fleet whose p99 stays below 100 ms, and that p99. */
  readonly agents: number;
  readonly p99Ms: number;
  /** They share so many connections. */
  readonly connections: number;
  readonly memoryKbPerConnection: number;
  readonly cpuMsPerHandshake: number;
  /** At a fleet of 100 000. `batch`: in the daemon; `database`: PostgreSQL's processes. */
  readonly cpuUsPerHeartbeat: Readonly<Record<Part, number>>;
}
type Part = 'tls' | 'http2' | 'decode' | 'batch' | 'database';

export interface HeartbeatBenchOptions {
  readonly server: Server;
  readonly spanMs: number;
  /** Share of the agents and connections. */
  readonly scale: number;
}

const RACERS = 200;
const CONNECTIONS = 2_000;
/** For the split, which opens them anew for each server. */
const SPLIT_CONNECTIONS = 500;
const FLEETS = [50_000, 100_000, 150_000, 200_000, 250_000, 300_000];
const SPLIT_FLEET = 100_000;
const P99_MAX_MS = 100;

export async function prepareHeartbeats(options: HeartbeatBenchOptions): Promise<HeartbeatBench> {
  const { server, spanMs, scale } = options;
  const sized = (count: number) => Math.max(1, Math.round(count * scale));
  const database = await server.database();
  const { key, cert, caDer } = await createDevCertificates({
    dir: path.join(server.dir, 'heartbeats'),
    names: [],
  });
  const racing = sized(RACERS);
  const connections = Math.max(racing, sized(CONNECTIONS));
  const agents = Math.max(connections, sized(FLEETS.at(-1)!));
  const callers = await enrol(database, { agents, connections, ca: pemOf(caDer) });
  const running: ChildProcess[] = [];
  const start = (file: string) => {
    running.push(startChild(file));
    return running.at(-1)!;
  };
  const end = ({ serving, calling }: Served) => [serving, calling].forEach(endChild);
  const serve = async (behind: ServeRequest['behind'], count: number): Promise<Served> => {
    const serving = start('server-child.ts');
    const asked: ServeRequest = { tls: { key, cert }, behind, url: database.url };
    const port = await ask<number>(serving, asked);
    const before = await ask<Spent>(serving, 'spent');
    const calling = start('load-child.ts');
    const those = callers.slice(0, count);
    const open: LoadRequest = {
      kind: 'open',
      port,
      path: behind === 'echo' ? ECHO_PATH : HEARTBEAT_PATH,
      callers: behind === 'nothing, in the clear' ? those.map(() => null) : those,
    };
    await ask<number>(calling, open);
    const after = await ask<Spent>(serving, 'spent');
    return { serving, calling, opening: lessOf(after, before) };
  };
  const racers = { ours: await serve('database', racing), echo: await serve('echo', racing) };
  const race = async ({ calling }: Served) => {
    const answered = await ask<number>(calling, {
      kind: 'closed',
      warmMs: spanMs / 2,
      spanMs,
    } satisfies LoadRequest);
    return answered / (spanMs / 1_000);
  };
  const pace = ({ calling }: Served, fleet: number) =>
    ask<Paced>(calling, {
      kind: 'paced',
      agents: fleet,
      perSecond: fleet / PERIOD_SECONDS,
      warmMs: spanMs / 2,
      spanMs,
    } satisfies LoadRequest);
  /** CPU for each heartbeat: of the server, and of the database. */
  const cost = async (behind: ServeRequest['behind']) => {
    const served = await serve(behind, Math.min(connections, sized(SPLIT_CONNECTIONS)));
    await pace(served, sized(SPLIT_FLEET));
    const [before, inDatabase] = [await ask<Spent>(served.serving, 'spent'), databaseUs(server)];
    const sent = await pace(served, sized(SPLIT_FLEET));
    const after = await ask<Spent>(served.serving, 'spent');
    const spentUs = databaseUs(server) - inDatabase;
    end(served);
    return { server: (after.cpuUs - before.cpuUs) / sent.all, database: spentUs / sent.all };
  };
  return {
    ours: () => race(racers.ours),
    echo: () => race(racers.echo),
    async openLoop(progress) {
      end(racers.echo);
      const served = await serve('database', connections);
      let best = { agents: 0, p99Ms: 0 };
      for (const fleet of FLEETS.map(sized)) {
        // What else goes on may spoil one of them.
        let paced = await pace(served, fleet);
        if (isLate(paced)) paced = await pace(served, fleet);
        progress(`${fleet} agents: p99 ${paced.p99Ms.toFixed(1)} ms, ${paced.failed} failed`);
        if (isLate(paced)) break;
        best = { agents: fleet, p99Ms: paced.p99Ms };
      }
      end(served);
      const clear = await cost('nothing, in the clear');
      const bare = await cost('nothing');
      const memory = await cost('memory');
      const whole = await cost('database');
      return {
        ...best,
        connections,
        memoryKbPerConnection: served.opening.memoryKb / connections,
        cpuMsPerHandshake: served.opening.cpuUs / 1_000 / connections,
        cpuUsPerHeartbeat: {
          tls: bare.server - clear.server,
          http2: clear.server,
          decode: memory.server - bare.server,
          batch: whole.server - memory.server,
          database: whole.database,
        },
      };
    },
    close: () => running.forEach(endChild),
  };
}

/** A server and its callers, connected. */
interface Served {
  readonly serving: ChildProcess;
  readonly calling: ChildProcess;
  /** What the connections cost. */
  readonly opening: Spent;
}

const isLate = ({ failed, p99Ms }: Paced): boolean => failed > 0 || p99Ms >= P99_MAX_MS;

const lessOf = (after: Spent, before: Spent): Spent => ({
  cpuUs: after.cpuUs - before.cpuUs,
  memoryKb: after.memoryKb - before.memoryKb,
});

const TICK_US = 10_000;

/** CPU time of the processes of PostgreSQL that run, as Linux tells it. */
function databaseUs({ dir }: Server): number {
  const postmaster = readFileSync(path.join(dir, 'postgres', 'cluster', 'postmaster.pid'), 'utf8');
  const [parent] = postmaster.split('\n');
  const ticks = readdirSync('/proc').map((pid) => {
    if (!/^\d+$/.test(pid)) return 0;
    try {
      // After the name, in parentheses: state, parent, …, and from the 12th on user and system time.
      const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) (?!.*\) )/);
      const told = fields.split(' ');
      return pid === parent || told[1] === parent ? Number(told[11]) + Number(told[12]) : 0;
    } catch {
      // It ended meanwhile.
      return 0;
    }
  });
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_US;
}

interface Enrolment {
  readonly agents: number;
  readonly connections: number;
  readonly ca: string;
}

/** Agents that were heard before; agent `n` has the key of connection `n` modulo their number. */
async function enrol(database: Database, { agents, connections, ca }: Enrolment) {
  const pairs = Array.from({ length: connections }, () => generateRawKeyPair());
  const keys = pairs.map(({ publicKey }) => Buffer.from(publicKey));
  await database.query(async (pool) => {
    const sql = await pool.connect();
    // Without triggers, which would tell a mirror of each.
    await sql.query('SET session_replication_role = replica');
    await sql.query(
      `INSERT INTO machines SELECT ${MACHINE}, now() FROM generate_series(0, $1 - 1) n`,
      [agents],
    );
    await sql.query(
      `INSERT INTO machine_agent_started (machine_id, agent_started_at, agent_public_key)
       SELECT ${MACHINE}, now() - interval '1 day', ($2::bytea[])[1 + n % $3]
       FROM generate_series(0, $1 - 1) n`,
      [agents, keys, connections],
    );
    await sql.query(
      `INSERT INTO machine_agent_heartbeat (machine_id, agent_heartbeat_at, boot_id)
       SELECT machine_id, now(), 'bench' FROM machine_agent_started`,
    );
    await sql.query('RESET session_replication_role');
    sql.release();
    await pool.query('VACUUM (ANALYZE)');
  });
  return Promise.all(
    pairs.map(async (pair): Promise<Identity> => {
      const { key, certificate } = await createClientIdentity(pair);
      return { ca, key, cert: certificate };
    }),
  );
}

/** The machine of agent `n`, in a random order. */
const MACHINE = 'md5(n::text)::uuid';

const pemOf = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE-----\n`;
