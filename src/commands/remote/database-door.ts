import Fastify, { type FastifyInstance } from 'fastify';
import type { Bmdb } from '../../adapters/bmdb/port.ts';
import type { Clock, Random } from '../../adapters/clock/port.ts';
import { silentLog } from '../../adapters/log/port.ts';
import { lossPolicyOf, type Config } from '../../config.ts';
import { givingBackOf } from '../../config/giving-back.ts';
import { addApi, type ApiDeps } from '../../console/api/api.ts';
import { addFailures } from '../../console/api/failures.ts';
import type { Access } from '../../console/access/access.ts';
import type { Person } from '../../console/access/port.ts';
import { NO_DAEMONS } from '../../console/daemons.ts';
import { NO_GUARD } from '../../console/guard.ts';
import { NO_PLAN } from '../../console/plan.ts';
import { NO_SERIES } from '../../console/series.ts';
import { watchFleet } from '../../console/watch.ts';
import { createMachineHistory } from '../../daemon/views/explaining.ts';
import { recordedFleet } from '../machine/recorded-fleet.ts';
import type { Door, Question, Reply } from './door.ts';
import { ofProviders, recordedProviders } from './recorded-providers.ts';
import { recordedInsight, recordedView, type Recorded } from './recorded-views.ts';

export interface DatabaseDoorDeps {
  readonly bmdb: Bmdb;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  /** Who asks: a claim. */
  readonly by: string;
  readonly version: string;
  /** For people: which database. */
  readonly where: string;
}

/** Rows that were read are good for so long. */
const FRESH_MS = 500;

/**
 * The door past the console: its API, served inside this process from what the database has, so that
 * whatever comes through either door has one form. Nobody's rights are checked: who reaches the
 * database may do anything.
 */
export function openDatabaseDoor(deps: DatabaseDoorDeps): Door {
  const { clock, where } = deps;
  let served: { readonly app: FastifyInstance; readonly atMs: number; close(): void } | null = null;
  const forget = async () => {
    const before = served;
    served = null;
    before?.close();
    await before?.app.close();
  };
  const fresh = async (signal: AbortSignal): Promise<FastifyInstance> => {
    if (served && clock.monotonic() - served.atMs < FRESH_MS) return served.app;
    await forget();
    const atMs = clock.monotonic();
    served = { ...(await serve(deps, signal)), atMs };
    return served.app;
  };
  return {
    kind: 'database',
    where,
    send: async (question) => {
      const app = await fresh(question.signal);
      const reply = await inject(app, question);
      if (question.method !== 'GET') await forget();
      return reply;
    },
    close: forget,
  };
}

async function inject(app: FastifyInstance, question: Question): Promise<Reply> {
  const { method, path, query = {}, headers = {}, body } = question;
  const answer = await app.inject({
    ...{ method, url: path, headers },
    query: Object.fromEntries(
      Object.entries(query).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)]],
      ),
    ),
    ...(body !== undefined && { payload: body as object }),
  });
  const { statusCode, headers: sent, body: text } = answer;
  return { status: statusCode, headers: sent as Reply['headers'], text };
}

async function serve(deps: DatabaseDoorDeps, signal: AbortSignal) {
  const { bmdb, config, clock, random, by, version } = deps;
  const loss = lossPolicyOf(config);
  const providers = Object.keys(config.providers);
  const read = await bmdb.scan(signal);
  const fleet = recordedFleet(read, { loss, providers: new Set(providers) });
  const unlisted = await bmdb.listings.unlisted(signal);
  const recorded: Recorded = { bmdb, config, fleet, unlisted };
  const view = recordedView(recorded);
  const watch = watchFleet({ fleet: view, clock, log: silentLog, version });
  const app = Fastify({ logger: false });
  const person: Person = {
    ...{ name: by, identity: by, role: 'admin', providers: null, via: 'none', proven: false },
  };
  app.decorateRequest('person');
  app.addHook('onRequest', async (request) => void (request.person = person));
  addFailures(app, silentLog);
  const options = { book: bmdb.access, clock, random, log: silentLog };
  const access: Partial<Access> = {
    options: options as Access['options'],
    loginSecret: async () => null,
  };
  const apiDeps: ApiDeps = {
    ...watch,
    ...{
      fleet: view,
      clock,
      version,
      inspector: null,
      inspectorUrl: null,
      logControl: null,
      mayEraseDisks: [],
    },
    // Nobody logs in here, so little of access is asked.
    access: access as Access,
    insight: recordedInsight(recorded),
    guard: NO_GUARD,
    plan: NO_PLAN,
    events: bmdb.events,
    series: NO_SERIES,
    history: createMachineHistory(
      bmdb.inspection,
      (slot) => view.facts(slot)?.row?.machineId ?? null,
    ),
    providers: recordedProviders(recorded, version),
    daemons: { ...NO_DAEMONS, sessions: (stop) => bmdb.inspection.sessions(stop) },
    filing: {
      ...{ requests: bmdb.requests, clock, loss, providers },
      guard: () => read.guard,
      pools: () => read.pools,
      nowMs: () => read.nowMs,
      givingBack: givingBackOf(config),
      means: async (wanted) => {
        const found = ofProviders(recorded, { version, wanted }, (each) => each.capabilities);
        // What its driver needs may be missing on this host, and is no reason to file nothing.
        return (await found.catch(() => []))[0] ?? null;
      },
    },
  };
  await addApi(app, apiDeps);
  return { app, close: () => watch.close() };
}
