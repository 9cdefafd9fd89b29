import Fastify, { type FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Access } from '../access/access.ts';
import { addLogin } from '../access/login.ts';
import { addLogins } from '../access/logins-api.ts';
import { addTokens } from '../access/tokens-api.ts';
import type { EventBook } from '../../adapters/bmdb/port.ts';
import type { Inspector } from '../../adapters/inspector/port.ts';
import { type MachineHistory, NO_HISTORY } from '../history.ts';
import type { WebhooksView } from '../webhooks.ts';
import { type MachineInsight, NO_INSIGHT } from '../insight.ts';
import { addCharts } from './charts.ts';
import { addDaemons } from './daemons.ts';
import type { DaemonsView } from '../daemons.ts';
import type { FilingMeans } from './filing/port.ts';
import { addFiling } from './filing/requests.ts';
import { addEvents } from './events.ts';
import { addFleet, type FleetDeps } from './fleet.ts';
import { addGuard, type GuardDeps } from './guard.ts';
import { addHistory } from './history.ts';
import { addInsight } from './insight.ts';
import { addInspector } from './inspector.ts';
import { API, prepareApi, type Api } from './kit.ts';
import { addLogLevel } from './log-level.ts';
import type { LogControl } from '../log-control.ts';
import { addMachine } from './machine.ts';
import { addMachineParts } from './machine-parts.ts';
import { addMachines, type MachinesDeps } from './machines.ts';
import { addPlan, type PlanDeps } from './plan.ts';
import { addOpenApi } from './openapi.ts';
import { addProviders, type ProvidersDeps } from './providers.ts';
import { addPools } from './pools.ts';
import type { SeriesView } from '../series.ts';
import { addSeries } from './series.ts';
import { addRecords, type Records } from './records.ts';
import { addResolve } from './resolve.ts';
import { addStream, type StreamDeps } from '../stream/stream.ts';
import { addWebhooks } from './webhooks.ts';
import { addWhoami } from './whoami.ts';
import { PROBLEMS, PROBLEM_CODES, Problem, type ProblemCode } from './problem.ts';
import { z } from 'zod';

export interface ApiDeps
  extends MachinesDeps, FleetDeps, StreamDeps, ProvidersDeps, GuardDeps, PlanDeps {
  readonly insight: MachineInsight;
  readonly history: MachineHistory;
  readonly daemons: DaemonsView;
  readonly series: SeriesView;
  readonly access: Access;
  /** Null: it is off. */
  readonly inspector: Inspector | null;
  /** Null: nobody tells the log anything. */
  readonly logControl: LogControl | null;
  readonly version: string;
  /** Absent: nothing is told of what happened. */
  readonly events?: EventBook | undefined;
  /** Absent: nobody is told over HTTP. */
  readonly webhooks?: WebhooksView | undefined;
  /** Absent: nothing is told of what the database has. */
  readonly records?: Records | undefined;
  /** Absent: nothing can be asked for, and there are no routes to do so. */
  readonly filing?: FilingMeans | undefined;
}

/** Everything under `/api/v1`, and the pages that its problems name. */
export async function addApi(app: FastifyInstance, deps: ApiDeps): Promise<void> {
  addProblemPages(app);
  await app.register(
    async (scope) => {
      await prepareApi(scope);
      addResources(scope.withTypeProvider<ZodTypeProvider>(), deps);
    },
    { prefix: API },
  );
}

function addResources(api: Api, deps: ApiDeps): void {
  const { fleet, index, insight, history, version, access, filing } = deps;
  addWhoami(api);
  addLogin(api, access);
  addLogins(api, access);
  addTokens(api, access);
  addVersion(api, version);
  addLogLevel(api, deps.logControl);
  addFleet(api, deps);
  addMachines(api, deps);
  addMachine(api, fleet);
  addResolve(api, fleet, index);
  addStream(api, deps);
  addGuard(api, deps);
  addPlan(api, deps);
  addSeries(api, deps.series);
  addProviders(api, deps);
  addPools(api, fleet);
  addInsight(api, insight);
  addMachineParts(api, deps);
  addHistory(api, history);
  if (deps.records) addRecords(api, deps.records);
  addDaemons(api, deps);
  addCharts(api);
  addInspector(api, deps);
  if (deps.events) addEvents(api, { events: deps.events });
  if (deps.events && deps.webhooks) {
    addWebhooks(api, { events: deps.events, webhooks: deps.webhooks });
  }
  if (filing) addFiling(api, { ...filing, fleet });
  addOpenApi(api);
}

/** The description of the API as OpenAPI 3.1, made of its schemas, as JSON. */
export async function describeApi(): Promise<string> {
  const app = Fastify();
  // Only what answers asks for any of it, and nothing does here.
  const access = { options: { clock: {} } };
  const nothing = {
    access,
    clock: {},
    insight: NO_INSIGHT,
    history: NO_HISTORY,
    filing: {},
    records: {},
    events: {},
    webhooks: {},
    version: '',
  };
  await addApi(app, nothing as unknown as ApiDeps);
  const { body } = await app.inject(`${API}/openapi.json`);
  await app.close();
  return body;
}

/** `/problems/<code>`: what the `type` of a problem leads to, as plain text. */
function addProblemPages(app: FastifyInstance): void {
  app.get<{ Params: { code: string } }>('/problems/:code', async (request, reply) => {
    const { code } = request.params;
    if (!isCode(code)) throw new Problem('not-found', 'No problem has this code');
    const { title, status, about } = PROBLEMS[code];
    return reply
      .type('text/plain; charset=utf-8')
      .send(`${title} (${code}, ${status})\n\n${about}\n`);
  });
}

const isCode = (text: string): text is ProblemCode =>
  (PROBLEM_CODES as readonly string[]).includes(text);

const VersionSchema = z.object({ version: z.string(), api: z.literal('v1') });

/** `version`: of the program that answers. */
function addVersion(api: Api, version: string): void {
  api.get(
    '/version',
    {
      config: { right: 'see' },
      schema: {
        tags: ['console'],
        summary: 'The version of the daemon that answers',
        response: { 200: VersionSchema },
      },
    },
    async () => ({ version, api: 'v1' as const }),
  );
}
