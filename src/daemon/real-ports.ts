import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { extname } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { asyncScheduler } from 'rxjs';
import {
  startAgentServerThread,
  type AgentServerThreadOptions,
} from '../adapters/agents/agent-server-thread.ts';
import { createDevCertificates } from '../adapters/agents/tls-material.ts';
import { startTlsRenewal } from '../adapters/agents/tls-renewal.ts';
import { startEmbeddedPostgres } from '../adapters/bmdb/embedded/embedded-postgres.ts';
import { checkSchema, latestMigration, migrate } from '../adapters/bmdb/schema/migrate.ts';
import { createPgBmdb } from '../adapters/bmdb/pg/pg-bmdb.ts';
import type { Bmdb } from '../adapters/bmdb/port.ts';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { createOidc } from '../adapters/identities/oidc.ts';
import { createInspection } from '../adapters/inspector/inspection.ts';
import { startInspectorRelay } from '../adapters/inspector/relay.ts';
import type { Log } from '../adapters/log/port.ts';
import type { DaemonLog } from '../adapters/log/pino-log.ts';
import { createPromMetrics } from '../adapters/metrics/prom-metrics.ts';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { UploadFile } from '../adapters/ssh/port.ts';
import { createFleetDriverShell } from '../adapters/ssh/driver-shell.ts';
import { createHttpSender } from '../adapters/webhooks/http-sender.ts';
import { createSsh2Shell } from '../adapters/ssh/ssh2-shell.ts';
import { loadAgentProgram } from '../agent-bundle.ts';
import type { Config, ListenAddress } from '../config.ts';
import { startConsole } from '../console/console.ts';
import { explain, isRetryable, UsageError } from '../domain/errors.ts';
import type {
  BmdbPolicies,
  FleetForAgents,
  Means,
  OpenedAgentServer,
  OpenedShell,
  Ports,
} from './ports.ts';
import { openSshKeys } from './ssh-keys.ts';

export interface RealWorld {
  readonly version: string;
  readonly log: Log & Partial<Pick<DaemonLog, 'suppressed' | 'levels' | 'recent'>>;
  /** Listening sockets passed to this process: descriptors by name. */
  readonly sockets?: ReadonlyMap<string, number>;
  /** Whether the start waits for an unavailable database; otherwise it fails. */
  readonly mayWait?: boolean;
}

/** The real world: this computer's time, PostgreSQL, SSH, and listeners on the network. */
export async function realPorts({
  version,
  log,
  sockets = new Map(),
  mayWait = false,
}: RealWorld): Promise<Ports> {
  const schema = await latestMigration();
  return {
    log,
    levels: log.levels ?? null,
    recentLog: log.recent ?? null,
    clock: systemClock,
    scheduler: asyncScheduler,
    random: systemRandom,
    metrics: createPromMetrics({ version, schema, suppressed: log.suppressed }),
    hostname: hostname() || 'UNKNOWN',
    schema,
    drivers: DRIVERS,
    balancerDrivers: BALANCER_DRIVERS,
    loadAgent: (config) => loadAgent(config, log),
    openShell,
    openBmdb: (means, policies) => openBmdb(means, policies, mayWait),
    openAgentServer: (means, fleet) =>
      openAgentServer(means, fleet, {
        listen: heldOf(sockets, means.config.agentServer.listen, 'agentServer.listen'),
      }),
    readAuthority: async ({ config }) => (await tlsOf(config)).caDer,
    async startConsole(deps) {
      const listen = heldOf(sockets, deps.listen, 'console.listen');
      return startConsole({ ...deps, listen, descriptorsMax: descriptorsMax() });
    },
    createIdentities: createOidc,
    createWebhookSender: createHttpSender,
    startInspector: startInspectorRelay,
    createInspection,
    inspect: null,
  };
}

/** This process's limit of descriptors; null: unknown on this system. */
export function descriptorsMax(): number | null {
  try {
    const found = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return found ? Number(found[1]) : null;
  } catch {
    return null;
  }
}

/**
 * Adds the descriptor of a passed socket.
 * @throws {UsageError} no socket of this name was passed.
 */
function heldOf(sockets: ReadonlyMap<string, number>, listen: ListenAddress, key: string) {
  const { socket } = listen;
  if (socket === undefined) return listen;
  const fd = sockets.get(socket);
  if (fd !== undefined) return { ...listen, fd };
  const passed = sockets.size === 0 ? 'none was' : `passed were ${[...sockets.keys()].join(', ')}`;
  throw new UsageError(
    `${key} is systemd:${socket}, and no socket of that name was passed to this process (${passed}); ` +
      `give a socket unit of the service FileDescriptorName=${socket}`,
  );
}

/** The database: our embedded one (migrated here), or one by URL (its schema is checked). */
async function openBmdb(means: Means, policies: BmdbPolicies, mayWait: boolean): Promise<Bmdb> {
  const { config, clock, random, log, metrics, closer } = means;
  const database = await openDatabase(means, mayWait);
  const bmdb = createPgBmdb({
    url: database.url,
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
  return database.isChecked ? bmdb : checkedOnce(bmdb, database.url);
}

/** Opens no session until the schema is checked, if the database was unavailable at the start. */
function checkedOnce(bmdb: Bmdb, url: string): Bmdb {
  let isChecked = false;
  return {
    ...bmdb,
    async openSession(options) {
      if (!isChecked) await checkSchema(url);
      isChecked = true;
      return bmdb.openSession(options);
    },
  };
}

/** A statement that outlasts its session is useless. */
const STATEMENT = { maxMs: 4_000, share: 0.8 };
/** Three hanging session renewals fit into one interval. */
const POKE = { maxMs: 1_500, share: 0.3 };

/** Time limits of the database, always below the session interval. */
export function databaseTimeouts({ session }: Pick<Config, 'session'>) {
  const within = ({ maxMs, share }: typeof STATEMENT) =>
    Math.min(maxMs, Math.floor(session.interval * share));
  return { timeoutMs: within(STATEMENT), pulseTimeoutMs: within(POKE) };
}

interface OpenedDatabase {
  readonly url: string;
  /** Whether its schema matches this program. */
  readonly isChecked: boolean;
}

/** A database that is unavailable at a watched start ends nothing: a restart would not help. */
async function openDatabase(
  { config: { database }, log, closer }: Means,
  mayWait: boolean,
): Promise<OpenedDatabase> {
  if (database.url) {
    const url = database.url.read();
    try {
      await checkSchema(url);
      return { url, isChecked: true };
    } catch (error) {
      if (!mayWait || !isRetryable(error)) throw error;
      log.warn({ cause: explain(error) }, 'the database does not answer yet');
      return { url, isChecked: false };
    }
  }
  const dataDir = database.embedded!.dataDir;
  const postgres = await startEmbeddedPostgres({
    dataDir,
    log: log.child({ component: 'postgres' }),
  });
  closer.add('embedded database', () => postgres.stop());
  const options = { grantTo: postgres.role };
  await migrate(postgres.ownerUrl, log.child({ component: 'postgres' }), options);
  return { url: postgres.url, isChecked: true };
}

async function openShell({ config, clock, log, metrics }: Means): Promise<OpenedShell> {
  const { sshConnectTimeout, sshHandshakeTimeout, sshExecTimeout } = config.agent;
  const keys = await openSshKeys(config.ssh, log);
  const common = {
    sudo: config.ssh.sudo,
    limits: {
      connectMs: sshConnectTimeout,
      handshakeMs: sshHandshakeTimeout,
      executeMs: sshExecTimeout,
    },
    clock,
    log: log.child({ component: 'ssh' }),
    metrics,
  };
  const shell = createSsh2Shell({ ...common, signers: keys.keys() });
  return {
    keys,
    shell,
    driverShell: createFleetDriverShell({ ...common, signers: keys.keys }),
    async renewKeys() {
      if (await keys.renew()) shell.setSigners(keys.keys());
    },
  };
}

/** Interval of checks of the agent server's certificate files. */
const CERTIFICATE_CHECK_MS = 30_000;

/** TypeScript in a checkout, JavaScript in a build. */
const AGENT_THREAD = new URL(`./agent-thread${extname(import.meta.filename)}`, import.meta.url);

/** Also for a test with certificate files. */
export async function openAgentServer(
  means: Means,
  { store, isReady }: FleetForAgents,
  { listen }: Pick<AgentServerThreadOptions, 'listen'> = means.config.agentServer,
): Promise<OpenedAgentServer> {
  const { config, clock, metrics, tuning } = means;
  const log = means.log.child({ component: 'agent-server' });
  const tls = await tlsOf(config);
  const server = await startAgentServerThread({
    module: AGENT_THREAD,
    listen,
    tls,
    store,
    clock,
    onCall(outcome, seconds) {
      metrics.count('shepherd_heartbeats_total', { outcome });
      metrics.observe('shepherd_heartbeat_seconds', { outcome }, seconds);
    },
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
    notAfterMs: () => certificateNotAfterMs(certificate.served.cert),
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

/** Removes port and brackets. */
export const hostOf = (endpoint: string): string =>
  endpoint.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');

const certificateNotAfterMs = (pem: string): number =>
  new X509Certificate(pem).validToDate.getTime();

const derOf = (pem: Buffer): Uint8Array => new X509Certificate(pem).raw;

/** The agent for machines: one program, or one per processor. */
async function loadAgent({ agent }: Config, log: Log) {
  const onStale = (path: string) =>
    log.warn({ path }, 'this is of another agent program, and not used: build both again');
  const load = async (path?: string): Promise<UploadFile> => ({
    ...(await loadAgentProgram(path, onStale)),
    mode: 0o755,
  });
  if (!agent.executables) return load(agent.executablePath);
  const paths = Object.entries(agent.executables).filter(([, path]) => path !== undefined);
  return new Map(
    await Promise.all(paths.map(async ([name, path]) => [name, await load(path)] as const)),
  );
}
