import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../adapters/clock/port.ts';
import type { Log } from '../adapters/log/port.ts';
import { UsageError, explain } from '../domain/errors.ts';
import { TRAIT_NAMES, TRAITS } from '../domain/traits.ts';
import { createEventHub } from './events.ts';
import type { EventHub, EventLimits } from './events.ts';
import { addGate, problem, requireSafeListen } from './gate.ts';
import { addGuardApi } from './guard-api.ts';
import { addMachinesApi } from './machines-api.ts';
import { addPage } from './page.ts';
import { addPoolsApi } from './pools-api.ts';
import type { FleetView, HealthReport, MetricsSource } from './port.ts';

export interface ConsoleDeps {
  /** Port 0 takes a free one. Any but a loopback host needs a `token`. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly fleet: FleetView;
  readonly metrics: MetricsSource;
  readonly health: () => HealthReport | Promise<HealthReport>;
  readonly clock: Clock;
  readonly log: Log;
  readonly version: string;
  /** Providers whose machines recovery may reinstall, which erases their disks. */
  readonly mayEraseDisks?: readonly string[] | undefined;
  /** Shown as a link, when the inspector is on. */
  readonly inspectorUrl?: string | undefined;
  /** Every route but `/livez` demands it (bearer, or password of basic credentials). */
  readonly token?: string | undefined;
  /** Further Host names to answer to, beside loopback and the listen address. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** How the operator sets the listen address, for the message when it is taken. */
  readonly option?: string | undefined;
  readonly eventLimits?: Partial<EventLimits> | undefined;
}

export interface Console {
  /** Where a browser finds it, with the port really taken. */
  readonly url: string;
  /** Ends all streams and connections. */
  close(): Promise<void>;
}

/**
 * The read-only window on the fleet: page, live events, JSON, metrics, health.
 * @throws {UsageError} when the address is taken, unusable, or open to the network without a token.
 */
export async function startConsole(deps: ConsoleDeps): Promise<Console> {
  const { listen, fleet, clock, log } = deps;
  const gate = {
    host: listen.host,
    allowedHosts: deps.allowedHosts ?? [],
    token: deps.token ?? null,
    clock,
    log,
  };
  requireSafeListen(gate);
  const { mayEraseDisks = [] } = deps;
  const about = {
    version: deps.version,
    inspectorUrl: deps.inspectorUrl ?? null,
    mayEraseDisks,
    traits: TRAIT_NAMES.map((name) => ({ name, label: TRAITS[name].label })),
  };
  const hub = createEventHub({ fleet, clock, log, about, limits: deps.eventLimits ?? {} });
  const app = Fastify({ logger: false, forceCloseConnections: true, requestTimeout: 10_000 });
  addGate(app, gate);
  addFailures(app, log);
  await addPage(app);
  addEvents(app, hub);
  addMachinesApi(app, fleet);
  addGuardApi(app, fleet, mayEraseDisks);
  addPoolsApi(app, fleet);
  addOperations(app, deps);
  await bind(app, deps);
  return {
    url: urlOf(app, listen.host),
    async close() {
      hub.close();
      await app.close();
    },
  };
}

function addEvents(app: FastifyInstance, hub: EventHub): void {
  app.get('/events', { exposeHeadRoute: false }, async (_request, reply) => {
    const headers = reply.getHeaders() as Record<string, string>;
    if (hub.attach(reply.raw, headers)) return reply.hijack();
    reply.code(503).header('retry-after', '5');
    return reply.send(problem('limited', 'Too many pages are open on this console'));
  });
}

/** What monitoring asks for. */
function addOperations(app: FastifyInstance, { metrics, health }: ConsoleDeps): void {
  app.get('/metrics', async (_request, reply) => {
    const { contentType, body } = await metrics.expose();
    return reply.header('content-type', contentType).send(body);
  });
  app.get('/livez', async () => ({ live: true }));
  app.get('/readyz', async (_request, reply) => {
    const { checks } = await health();
    const all = Object.values(checks);
    const ready = all.length > 0 && all.every(({ ok, degraded }) => ok || degraded);
    const degraded = all.some((check) => check.degraded === true);
    return reply.code(ready ? 200 : 503).send({ ready, degraded, checks });
  });
}

/** Details of a failure go to the log; the reader learns that there was one. */
function addFailures(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send(problem('not-found', 'There is no such page')),
  );
  app.setErrorHandler((error: { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500;
    if (status < 500) return reply.code(status).send(problem('malformed', explain(error)));
    log.error({ err: explain(error), path: request.url }, 'console request failed');
    return reply.code(500).send(problem('internal', 'Internal error, see the log'));
  });
}

const ADDRESS_MISTAKES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is already in use',
  EACCES: 'may not be used by this user',
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not a known name',
};

async function bind(app: FastifyInstance, { listen, option }: ConsoleDeps): Promise<void> {
  try {
    await app.listen({ host: listen.host, port: listen.port });
  } catch (cause) {
    await app.close();
    const mistake = ADDRESS_MISTAKES[(cause as NodeJS.ErrnoException).code ?? ''];
    if (!mistake) throw cause;
    const where = `${listen.host}:${listen.port}`;
    const remedy = `choose another with ${option ?? 'console.listen'}`;
    throw new UsageError(`console: ${where} ${mistake}; ${remedy}`, { cause });
  }
}

function urlOf(app: FastifyInstance, host: string): string {
  const { port } = app.addresses()[0] as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
}
