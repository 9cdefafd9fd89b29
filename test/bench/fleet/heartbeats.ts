import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import { createClientIdentity } from '../../../src/agent/client-certificate.ts';
import { generateRawKeyPair } from '../../../src/agent/keys.ts';
import { heartbeatRequestCodec } from '../../../src/wire/codec.ts';
import { HEARTBEAT_PATH } from '../../../src/wire/heartbeat.ts';
import { loadFleet } from '../bmdb/fleet.ts';
import type { Server } from './database.ts';

export const ECHO_PATH = '/bench.Echo/Echo';
const CONNECTIONS = 200;

export interface ServeRequest {
  readonly tls: { readonly key: string; readonly cert: string };
  /** Of the database for heartbeats; null: the bare echo. */
  readonly url: string | null;
}

export interface LoadRequest {
  readonly port: number;
  readonly path: string;
  /** PEM of what the server's certificate chains to. */
  readonly ca: string;
  /** One connection each; `body` is the message, base64. */
  readonly callers: readonly {
    readonly key: string;
    readonly certificate: string;
    readonly body: string;
  }[];
  readonly warmMs: number;
  readonly spanMs: number;
}

/** Both servers, ready to be measured in turns. */
export interface HeartbeatRace {
  /** Heartbeats per second through mutual TLS into the database. */
  ours(): Promise<number>;
  /** Unary echoes per second of @grpc/grpc-js over TLS, with the same callers and messages. */
  echo(): Promise<number>;
  close(): void;
}

export async function prepareRace(server: Server, spanMs: number): Promise<HeartbeatRace> {
  const database = await server.database();
  const { key, cert, caDer } = await createDevCertificates({
    dir: path.join(server.dir, 'race'),
    names: [],
  });
  const callers = await enrol(database);
  const children: ChildProcess[] = [];
  const end = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.once('exit', end);
  const start = async (url: string | null) => {
    const child = fork(path.join(import.meta.dirname, 'server-child.ts'));
    children.push(child);
    child.send({ tls: { key, cert }, url } satisfies ServeRequest);
    const [port] = (await once(child, 'message')) as [number];
    return port;
  };
  const ca = pemOf(caDer);
  const ports = { ours: await start(database.url), echo: await start(null) };
  const race = (port: number, callPath: string) =>
    load({ port, path: callPath, ca, callers, warmMs: spanMs / 2, spanMs });
  return {
    ours: () => race(ports.ours, HEARTBEAT_PATH),
    echo: () => race(ports.echo, ECHO_PATH),
    close() {
      end();
      process.off('exit', end);
    },
  };
}

/** Machines whose agents have real keys. */
async function enrol(
  database: Awaited<ReturnType<Server['database']>>,
): Promise<LoadRequest['callers']> {
  const fleet = await database.query((sql) =>
    loadFleet(sql, { free: 0, started: CONNECTIONS, others: 0 }),
  );
  const agents = await Promise.all(
    fleet.started.map(async (machine) => {
      const pair = generateRawKeyPair();
      const identity = await createClientIdentity(pair);
      const request = { machineId: machine, bootId: 'bench', uptimeSeconds: 1n };
      const body = Buffer.from(heartbeatRequestCodec.encode(request)).toString('base64');
      return { machine, publicKey: Buffer.from(pair.publicKey), caller: { ...identity, body } };
    }),
  );
  await database.query((sql) =>
    sql.query(
      `UPDATE machine_agent_started a SET agent_public_key = e.key
       FROM unnest($1::uuid[], $2::bytea[]) AS e (machine_id, key)
       WHERE a.machine_id = e.machine_id`,
      [agents.map(({ machine }) => machine), agents.map(({ publicKey }) => publicKey)],
    ),
  );
  return agents.map(({ caller }) => caller);
}

async function load(request: LoadRequest): Promise<number> {
  const child = fork(path.join(import.meta.dirname, 'load-child.ts'));
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  try {
    child.send(request);
    const [answered] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`the callers' process ended with ${String(code)}`);
      }),
    ])) as [number];
    return answered / (request.spanMs / 1_000);
  } finally {
    end();
    process.off('exit', end);
  }
}

const pemOf = (der: Uint8Array): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(der).toString('base64')}\n-----END CERTIFICATE-----\n`;
