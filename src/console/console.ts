import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type {
  AcceptanceRepository,
  ConditionRepository,
  RollRepository,
  EventRepository,
} from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Inspector } from '../adapters/inspector/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import { UsageError } from '../domain/errors.ts';
import { addApi } from './api/api.ts';
import { API } from './api/kit.ts';
import type { SubmissionMeans } from './api/submit/submit.ts';
import { addFailures } from './api/failures.ts';
import { Problem } from './api/problem.ts';
import { watchFleet } from './watch.ts';
import type { Access } from './access/access.ts';
import { addLoginPage } from './access/login.ts';
import { openAccess, type AccessMeans } from './access/means.ts';
import { addOidcLogin } from './access/oidc-login.ts';
import { mayDo } from './access/rights.ts';
import { notAfterMs, renewTls, tlsOptions, type ReadTls } from './access/tls.ts';
import { boundConnections, limitsFor, type ConnectionLimits } from './connections.ts';
import { addGate } from './gate.ts';
import { addPage } from './page.ts';
import { addDocuments } from './documents.ts';
import type { StreamLimits } from './stream/hub.ts';
import type { FleetView, HealthReport, MetricsSource } from './port.ts';
import type { ConsoleViews, LogControl, WebhooksView } from './views.ts';

export interface ConsoleDeps extends AccessMeans, ConsoleViews {
  /**
   * Port 0 takes a free port; `fd` is a listening socket that another process holds for us. Any
   * host but loopback needs TLS and a login.
   */
  readonly listen: { readonly host: string; readonly port: number; readonly fd?: number };
  readonly fleet: FleetView;
  readonly metrics: MetricsSource;
  /** Metrics of the console itself. */
  readonly meters: Metrics;
  readonly health: () => HealthReport | Promise<HealthReport>;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** False: only health and metrics, without page and API. */
  readonly isShown?: boolean | undefined;
  /** Providers whose machines recovery may reinstall, which erases their disks. */
  readonly mayEraseDisks: readonly string[];
  /** What happened. */
  readonly events: EventRepository;
  readonly acceptances: Pick<AcceptanceRepository, 'read'>;
  /** Reports of conditions of machines. */
  readonly conditions: ConditionRepository;
  readonly rolls: RollRepository;
  /** Receivers of events over HTTP. */
  readonly webhooks: WebhooksView;
  /** Dependencies of operator requests. */
  readonly submission: SubmissionMeans;
  /** Controls the log level; absent: it cannot be changed. */
  readonly logControl?: LogControl | undefined;
  /** Shows actors to admins; absent: not available. */
  readonly inspector?: Inspector | undefined;
  /** Shown as a link, if the relay to Stately's inspector is on. */
  readonly inspectorUrl?: string | undefined;
  /** Address for browsers, if it is not the requested one: `https://fleet.example.org`. */
  readonly publicUrl?: string | undefined;
  /** Absent: plain HTTP. */
  readonly tls?: ReadTls | undefined;
  /** Further allowed Host names, beside loopback and the listen address. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** The option that sets the listen address, for the message when the address is taken. */
  readonly option?: string | undefined;
  /** Limit of open descriptors of this process; absent: unknown. */
  readonly descriptorsMax?: number | null | undefined;
  readonly connectionLimits?: Partial<ConnectionLimits> | undefined;
  readonly streamLimits?: Partial<StreamLimits> | undefined;
}

export interface Console {
  /** Address for browsers, with the port that was taken. */
  readonly url: string;
  /** End of the certificate's validity, epoch ms; null: no certificate. */
  certificateNotAfterMs(): number | null;
  /** Reads the certificate again. Never fails: errors go to the log. */
  reload(): void;
  /** Ends all streams and connections. */
  close(): Promise<void>;
}

/**
 * Starts the console: page, live events, API, metrics, health.
 * @throws {UsageError} the address is taken, unusable, or open to the network without TLS and
 * login.
 */
export async function startConsole(deps: ConsoleDeps): Promise<Console> {
  const { listen, clock, log } = deps;
  const access = openAccess(deps, {
    host: listen.host,
    hasTls: deps.tls !== undefined,
    clock,
    log,
  });
  const { meters } = deps;
  const app = createServer(deps);
  const { descriptorsMax = null, connectionLimits, isProxied = false } = deps;
  const limits = { ...limitsFor(descriptorsMax, isProxied), ...connectionLimits };
  const connections = boundConnections(app.server, limits, clock);
  addMeters(app, meters);
  addGate(app, { ...gateOptions(deps, access), letIn: connections.known });
  addFailures(app, log);
  tellVersion(app, deps.version);
  const shown = (deps.isShown ?? true) ? await addShown(app, deps, access) : null;
  addOperations(app, deps, access, () => meters.set('shepherd_streams', {}, shown?.readers() ?? 0));
  await bind(app, deps);
  // Such as no descriptor for another connection; the server continues to listen.
  app.server.on('error', (error) =>
    log.error({ err: error }, 'the console cannot accept connections'),
  );
  let endsAtMs = deps.tls ? notAfterMs(deps.tls()) : null;
  return {
    url: urlOf(app, deps),
    certificateNotAfterMs: () => endsAtMs,
    reload() {
      const served = deps.tls && renewTls(app, deps.tls, log);
      if (served) endsAtMs = notAfterMs(served);
    },
    async close() {
      shown?.close();
      await app.close();
    },
  };
}

/** Page, API and streams. */
async function addShown(app: FastifyInstance, deps: ConsoleDeps, access: Access) {
  const onDropped = () => deps.meters.count('shepherd_streams_dropped_total', {});
  addPage(app, { log: deps.log, version: deps.version });
  addDocuments(app);
  addLoginPage(app, {
    hasIdentities: deps.identities !== undefined,
    isOpen: access.options.isOpen,
  });
  addOidcLogin(app, access);
  const watch = watchFleet({ ...deps, onDropped });
  const { inspector = null, logControl = null, inspectorUrl = null } = deps;
  const settled = { inspector, logControl, inspectorUrl };
  await addApi(app, { ...deps, ...watch, ...settled, access });
  return { readers: () => watch.hub.readers, close: () => watch.close() };
}

/** Commands warn of another version of the console. Unknown callers do not learn it. */
function tellVersion(app: FastifyInstance, version: string): void {
  app.addHook('onSend', async ({ url }, reply) => {
    if (url.startsWith(`${API}/`) && reply.statusCode !== 401) {
      reply.header('shepherd-version', version);
    }
  });
}

/** Streams last as long as their readers stay, which says nothing about the console. */
const STREAMS = new Set([`${API}/stream`]);

/**
 * Counts the console's answers and their duration. Requests without a route share one label, so
 * that strangers cannot create series.
 */
function addMeters(app: FastifyInstance, metrics: Metrics): void {
  app.addHook('onResponse', async (request, reply) => {
    const { url: route = 'none' } = request.routeOptions;
    if (STREAMS.has(route)) return;
    const method = request.is404 ? 'any' : request.method;
    const labels = { route, method, status: String(reply.statusCode) };
    metrics.observe('shepherd_http_request_seconds', labels, reply.elapsedTime / 1_000);
  });
}

const HANDSHAKE_MS = 10_000;

function createServer({ tls, isProxied = false }: ConsoleDeps): FastifyInstance {
  const options = {
    ...{ logger: false, forceCloseConnections: true, requestTimeout: 10_000 },
    // The address that the proxy itself saw; anybody can write the entries to the left of it.
    ...(isProxied && { trustProxy: (_address: string, hop: number) => hop === 0 }),
  };
  if (!tls) return Fastify(options);
  // Routes and hooks do not distinguish HTTP from HTTPS.
  return Fastify({ ...options, https: { ...tlsOptions(tls), handshakeTimeout: HANDSHAKE_MS } });
}

function gateOptions({ listen, allowedHosts = [], publicUrl }: ConsoleDeps, access: Access) {
  const origin = publicUrl === undefined ? null : new URL(publicUrl);
  return {
    host: listen.host,
    allowedHosts: [...allowedHosts, ...(origin ? [origin.hostname] : [])],
    origin: origin?.origin ?? null,
    isSecure: access.options.cookies.isSecure,
    access,
  };
}

/** Routes for monitoring. Anybody learns liveness and readiness; reasons need a right. */
function addOperations(
  app: FastifyInstance,
  { metrics, health }: ConsoleDeps,
  access: Access,
  countStreams: () => void,
): void {
  app.get('/metrics', async (_request, reply) => {
    countStreams();
    const { contentType, body } = await metrics.expose();
    return reply.header('content-type', contentType).send(body);
  });
  app.get('/livez', { config: { right: 'open' } }, async () => ({ live: true }));
  app.get('/readyz', { config: { right: 'open' } }, async (request, reply) => {
    const { checks } = await health();
    const all = Object.values(checks);
    const ready = all.length > 0 && all.every(({ ok, degraded }) => ok || degraded);
    const degraded = all.some((check) => check.degraded === true);
    const words = (await mayLook(access, request)) ? { degraded, checks } : {};
    return reply.code(ready ? 200 : 503).send({ ready, ...words });
  });
}

async function mayLook(access: Access, request: FastifyRequest): Promise<boolean> {
  try {
    return mayDo(await access.find(request, { isMetrics: false }), 'see');
  } catch (error) {
    if (error instanceof Problem) return false;
    throw error;
  }
}

const ADDRESS_MISTAKES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not a known name',
};

async function bind(app: FastifyInstance, { listen, option }: ConsoleDeps): Promise<void> {
  const { host, port, fd } = listen;
  try {
    // Fastify passes on options that it does not know, such as a descriptor.
    await app.listen({ host, ...(fd === undefined ? { port } : { fd }) });
  } catch (cause) {
    await app.close();
    const mistake = ADDRESS_MISTAKES[(cause as NodeJS.ErrnoException).code ?? ''];
    if (!mistake) throw cause;
    const where = fd === undefined ? `${host}:${port}` : `the socket passed as ${fd}`;
    const remedy = `choose another with ${option ?? 'console.listen'}`;
    throw new UsageError(`console: ${where} ${mistake}; ${remedy}`, { cause });
  }
}

function urlOf(app: FastifyInstance, { listen: { host }, tls }: ConsoleDeps): string {
  const { port } = app.addresses()[0] as AddressInfo;
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
