import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { extname } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { asyncScheduler } from 'rxjs';
import { startAgentServerThread } from '../adapters/agents/agent-server-thread.ts';
import { createDevCertificates } from '../adapters/agents/tls-material.ts';
import { startTlsRenewal } from '../adapters/agents/tls-renewal.ts';
import { startEmbeddedPostgres } from '../adapters/bmdb/embedded/embedded-postgres.ts';
import { checkSchema, latestMigration, migrate } from '../adapters/bmdb/schema/migrate.ts';
import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { startInspectorRelay } from '../adapters/inspector/relay.ts';
import type { Log } from '../adapters/log/port.ts';
import { createPromMetrics } from '../adapters/metrics/prom-metrics.ts';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { UploadFile } from '../adapters/ssh/port.ts';
import { createSsh2Shell } from '../adapters/ssh/ssh2-shell.ts';
import { loadAgentProgram } from '../agent-bundle.ts';
import type { Config } from '../config.ts';
import { startConsole } from '../console/console.ts';
import type { Closer } from './closer.ts';
import type {
  BmdbPolicies,
  FleetForAgents,
  Means,
  OpenedAgentServer,
  OpenedShell,
  Ports,
} from './ports.ts';
import { openSshKeys } from './ssh-keys.ts';

/** The real world: this computer's time, PostgreSQL, SSH, and listeners on the network. */
export async function realPorts(about: { version: string; log: Log }): Promise<Ports> {
  const { version, log } = about;
  return {
    log,
    clock: systemClock,
    scheduler: asyncScheduler,
    random: systemRandom,
    metrics: createPromMetrics({ version, schema: await latestMigration() }),
    hostname: hostname() || 'UNKNOWN',
    drivers: DRIVERS,
    balancerDrivers: BALANCER_DRIVERS,
    loadAgent,
    openShell,
    openBmdb,
    openAgentServer,
    startConsole,
    startInspector: startInspectorRelay,
    inspect: null,
  };
}

/** The database: our own embedded one (migrated here), or one by URL (its schema is checked). */
async function openBmdb(means: Means, policies: BmdbPolicies): Promise<Bmdb> {
  const { config, clock, random, log, metrics, closer } = means;
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
    ...policies,
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

async function openShell({ config, clock, log, metrics }: Means): Promise<OpenedShell> {
  const { sshConnectTimeout, sshHandshakeTimeout, sshExecTimeout } = config.agent;
  const keys = await openSshKeys(config.ssh, log);
  const shell = createSsh2Shell({
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
  return {
    keys,
    shell,
    async renewKeys() {
      if (await keys.renew()) shell.setSigners(keys.keys());
    },
  };
}

/** How often the files of the agent server's certificate are looked at. */
const CERTIFICATE_CHECK_MS = 30_000;

/** Sources are TypeScript in a checkout, and JavaScript where they were built. */
const AGENT_THREAD = new URL(`./agent-thread${extname(import.meta.filename)}`, import.meta.url);

/** Also used by a test, with certificates in files. */
export async function openAgentServer(
  means: Means,
  { store, isReady }: FleetForAgents,
): Promise<OpenedAgentServer> {
  const { config, clock, metrics, tuning } = means;
  const log = means.log.child({ component: 'agent-server' });
  const tls = await tlsOf(config);
  const server = await startAgentServerThread({
    module: AGENT_THREAD,
    listen: config.agentServer.listen,
    tls,
    store,
    clock,
    metrics,
    log,
    isReady,
    heartbeatIntervalSeconds: Math.max(1, Math.round(config.agent.heartbeatPeriod / 1_000)),
    batch: tuning.heartbeatBatch,
  });
  const certificate = startTlsRenewal({
    read: () => tlsOf(config),
    served: tls,
    present: server.present,
    checkMs: CERTIFICATE_CHECK_MS,
    clock,
    log,
  });
  return {
    server: {
      ...server,
      close(graceMs) {
        certificate.stop();
        return server.close(graceMs);
      },
    },
    caCertificate: () => certificate.served.caDer,
    renewCertificate: certificate.renew,
  };
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
async function loadAgent({ agent }: Config) {
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
