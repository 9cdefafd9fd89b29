import type { InspectionEvent } from 'xstate';
import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { startAgentServerThread } from '../adapters/agents/agent-server-thread.ts';
import { createTakeoverProtocol } from '../adapters/agents/takeover-protocol.ts';
import type { AgentServer } from '../adapters/agents/port.ts';
import { createDevCertificates } from '../adapters/agents/tls-material.ts';
import { startTlsRenewal } from '../adapters/agents/tls-renewal.ts';
import { startEmbeddedPostgres } from '../adapters/bmdb/embedded/embedded-postgres.ts';
import { checkSchema, migrate } from '../adapters/bmdb/schema/migrate.ts';
import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Clock, Random } from '../adapters/clock/port.ts';
import type { RemoteShell, UploadFile } from '../adapters/ssh/port.ts';
import type { HeartbeatStore } from '../domain/heartbeat.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import { createSsh2Shell } from '../adapters/ssh/ssh2-shell.ts';
import { loadAgentProgram } from '../agent-bundle.ts';
import { lossPolicyOf, type Config } from '../config.ts';
import type { Closer } from './closer.ts';
import { guardPolicyOf } from './guard-policy.ts';
import { openSshKeys } from './ssh-keys.ts';
import type { Tuning } from './tuning.ts';

/** What the parts of a daemon are built from. */
export interface Means {
  readonly config: Config;
  readonly tuning: Tuning;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly version: string;
  readonly closer: Closer;
  readonly standIns?: StandIns;
}

/** For simulations and benchmarks, which play what lies beyond. */
export interface StandIns {
  readonly shell?: RemoteShell;
  /** In place of the listener for agents. */
  readonly agents?: (store: HeartbeatStore) => AgentServer;
  /** Told what every cell's actor system does. */
  readonly inspect?: (event: InspectionEvent) => void;
}

/** The database: our own embedded one (migrated here), or one by URL (its schema is checked). */
export async function openBmdb({ config, tuning, clock, random, log, metrics, closer }: Means) {
  const url = await databaseUrl(config, log, closer);
  const bmdb = createPgBmdb({
    url,
    clock,
    random,
    log: log.child({ component: 'bmdb' }),
    metrics,
    poolMax: config.database.poolMax,
    wakes: config.database.wakes,
    ...databaseTimeouts(config),
    loss: { ...lossPolicyOf(config), ladderResetMs: tuning.ladderResetMs },
    budget: config.guard,
    guard: guardPolicyOf(config, tuning),
  });
  closer.add('bmdb', () => bmdb.close());
  return bmdb;
}

/** A statement that outlasts its session is of no use to anybody. */
const STATEMENT = { maxMs: 4_000, share: 0.8 };
/** Three pokes that hang fit into one interval. */
const POKE = { maxMs: 1_500, share: 0.3 };

/** How long the database may take, below the session interval however short that is. */
export function databaseTimeouts({ session }: Pick<Config, 'session'>) {
  const within = ({ maxMs, share }: typeof STATEMENT) =>
    Math.min(maxMs, Math.floor(session.interval * share));
  return { timeoutMs: within(STATEMENT), pulseTimeoutMs: within(POKE) };
}

async function databaseUrl({ database }: Config, log: Log, closer: Closer): Promise<string> {
  if (database.url) {
    const url = database.url.read();
    await checkSchema(url);
    return url;
  }
  const dataDir = database.embedded!.dataDir;
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: log.child({ component: 'postgres' }),
  });
  closer.add('embedded database', () => postgres.stop());
  const options = { grantTo: postgres.role };
  await migrate(postgres.ownerUrl, log.child({ component: 'postgres' }), options);
  return postgres.url;
}

export async function openShell({ config, clock, log, metrics, standIns }: Means) {
  const { sshConnectTimeout, sshHandshakeTimeout, sshExecTimeout } = config.agent;
  const keys = await openSshKeys(config.ssh, log);
  const ssh2 = createSsh2Shell({
    signers: keys.keys(),
    sudo: config.ssh.sudo,
    limits: {
      connectMs: sshConnectTimeout,
      handshakeMs: sshHandshakeTimeout,
      executeMs: sshExecTimeout,
    },
    clock,
    log: log.child({ component: 'ssh' }),
    metrics,
  });
  /** Reads the keys again; the next connections offer what was found. */
  const renewKeys = async () => {
    if (await keys.renew()) ssh2.setSigners(keys.keys());
  };
  return { keys, shell: standIns?.shell ?? ssh2, renewKeys };
}

/** How often the files of the agent server's certificate are looked at. */
const CERTIFICATE_CHECK_MS = 30_000;

/** Sources are TypeScript in a checkout, and JavaScript where they were built. */
const AGENT_THREAD = new URL(`./agent-thread${extname(import.meta.filename)}`, import.meta.url);

/** The listener for agents, and what they are told of it. */
export async function openAgentServer(
  means: Means,
  store: Awaited<ReturnType<typeof openBmdb>>['heartbeats'],
  isReady: () => boolean,
) {
  const { config, clock, log, metrics, tuning, closer, standIns } = means;
  const tls = await tlsOf(config);
  const server =
    standIns?.agents?.(store) ??
    (await startAgentServerThread({
      module: AGENT_THREAD,
      listen: config.agentServer.listen,
      tls,
      store,
      clock,
      metrics,
      log: log.child({ component: 'agent-server' }),
      isReady,
      heartbeatIntervalSeconds: Math.max(1, Math.round(config.agent.heartbeatPeriod / 1_000)),
      batch: { maxMs: tuning.batchMs, max: 500 },
    }));
  closer.add('agent server', () => server.close(tuning.agentServerGraceMs));
  const certificate = startTlsRenewal({
    read: () => tlsOf(config),
    served: tls,
    present: server.present,
    checkMs: CERTIFICATE_CHECK_MS,
    clock,
    log: log.child({ component: 'agent-server' }),
  });
  closer.add('certificate renewal', () => certificate.stop());
  const endpoint = config.agent.endpoint ?? server.address;
  const caCertificate = () => certificate.served.caDer;
  const protocol = createTakeoverProtocol({ endpoint, caCertificate });
  return { server, protocol, certificate };
}

async function tlsOf({ agentServer, agent }: Config) {
  const name = agent.endpoint === undefined ? undefined : hostOf(agent.endpoint);
  if (agentServer.devCertificates) {
    const { dir } = agentServer.devCertificates;
    return createDevCertificates({ dir, names: name === undefined ? [] : [name] });
  }
  return {
    key: readFileSync(agentServer.keyPath!, 'utf8'),
    cert: readFileSync(agentServer.certificatePath!, 'utf8'),
    caDer: agent.endpointCaCertificatePath
      ? derOf(readFileSync(agent.endpointCaCertificatePath))
      : new Uint8Array(0),
  };
}

/** Without port and brackets. */
export const hostOf = (endpoint: string): string =>
  endpoint.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');

const derOf = (pem: Buffer): Uint8Array => new X509Certificate(pem).raw;

/** What is put on machines: one program for all, or one for each kind of processor. */
export async function agentFiles({ agent }: Config) {
  const load = async (path?: string): Promise<UploadFile> => {
    const { content, sha256 } = await loadAgentProgram(path);
    return { content, sha256, mode: 0o755 };
  };
  if (!agent.executables) return load(agent.executablePath);
  const paths = Object.entries(agent.executables).filter(([, path]) => path !== undefined);
  return new Map(
    await Promise.all(paths.map(async ([name, path]) => [name, await load(path)] as const)),
  );
}
