import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { EventBook } from '../adapters/bmdb/port.ts';
import type { Clock } from '../adapters/clock/port.ts';
import type { Inspector } from '../adapters/inspector/port.ts';
import type { Log } from '../adapters/log/port.ts';
import type { Metrics } from '../adapters/metrics/port.ts';
import { UsageError } from '../domain/errors.ts';
import { addApi } from './api/api.ts';
import { API } from './api/kit.ts';
import type { FilingMeans } from './api/filing/filing.ts';
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
   * Port 0 takes a free one; `fd` is a listening socket that somebody holds for us. Any but a loopback
   * host needs TLS, and a way to log in.
   */
  readonly listen: { readonly host: string; readonly port: number; readonly fd?: number };
  readonly fleet: FleetView;
  readonly metrics: MetricsSource;
  /** What is counted of the console itself. */
  readonly meters: Metrics;
  readonly health: () => HealthReport | Promise<HealthReport>;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** False: there are health and metrics, and neither page nor API. */
  readonly isShown?: boolean | undefined;
  /** Providers whose machines recovery may reinstall, which erases their disks. */
  readonly mayEraseDisks: readonly string[];
  /** What happened. */
  readonly events: EventBook;
  /** Who is told of it over HTTP. */
  readonly webhooks: WebhooksView;
  /** What is needed to ask for something. */
  readonly filing: FilingMeans;
  /** How people tell the log what to write; absent: nobody does. */
  readonly logControl?: LogControl | undefined;
  /** How an admin looks at actors; absent: nobody does. */
  readonly inspector?: Inspector | undefined;
  /** Shown as a link, when the relay to Stately's inspector is on. */
  readonly inspectorUrl?: string | undefined;
  /** Where browsers find it, if not as they ask for it: `https://fleet.example.org`. */
  readonly publicUrl?: string | undefined;
  /** Absent: plain HTTP. */
  readonly tls?: ReadTls | undefined;
  /** Further Host names to answer to, beside loopback and the listen address. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** How the operator sets the listen address, for the message when it is taken. */
  readonly option?: string | undefined;
  /** How many descriptors this process may have; absent: nobody knows. */
  readonly descriptorsMax?: number | null | undefined;
  readonly connectionLimits?: Partial<ConnectionLimits> | undefined;
  readonly streamLimits?: Partial<StreamLimits> | undefined;
}

export interface Console {
  /** Where a browser finds it, with the port really taken. */
  readonly url: string;
  /** When its certificate ends, epoch ms; null: it has none. */
  certificateNotAfterMs(): number | null;
  /** Reads the certificate again. Never fails: what is wrong is told in the log. */
  reload(): void;
  /** Ends all streams and connections. */
  close(): Promise<void>;
}

/**
 * The window on the fleet: page, live events, API, metrics, health.
 * @throws {UsageError} the address is taken, unusable, or open to the network without TLS and login.
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
  // Such as no descriptor left for one more connection; the server listens on.
  app.server.on('error', (error) => log.error({ err: error }, 'the console cannot accept'));
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

/** Commands tell people when their console is of another version. Who is not known is told none. */
function tellVersion(app: FastifyInstance, version: string): void {
  app.addHook('onSend', async ({ url }, reply) => {
    if (url.startsWith(`${API}/`) && reply.statusCode !== 401) {
      reply.header('shepherd-version', version);
    }
  });
}

/** They last as long as their readers stay, which says nothing of the console. */
const STREAMS = new Set([`${API}/stream`]);

/**
 * Counts what the console answers, and how long that took. Calls of no route are one, whatever they
 * asked for, so that strangers cannot make series.
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
    // The address that the proxy itself saw; what is further left, anybody can write.
    ...(isProxied && { trustProxy: (_address: string, hop: number) => hop === 0 }),
  };
  if (!tls) return Fastify(options);
  // The same to routes and hooks, of which none knows its server.
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

/** What monitoring asks for. Whether the daemon lives and is ready anybody is told, and why not whoever may look. */
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
    // Fastify passes on what it does not know, such as a descriptor.
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
