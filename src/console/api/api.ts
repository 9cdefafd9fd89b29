import Fastify, { type FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Access } from '../access/access.ts';
import { addLogin } from '../access/login.ts';
import { addLogins, addTokens } from '../access/accounts-api.ts';
import { addDeviceDecision, addDeviceLogin } from '../access/device-login.ts';
import type { Inspector } from '../../adapters/inspector/port.ts';
import { addStream, type StreamDeps } from '../stream/stream.ts';
import type { ConsoleViews, WebhooksView } from '../views.ts';
import { addAbout, type AboutDeps } from './about.ts';
import { addConditions, type ConditionsDeps } from './conditions.ts';
import { addCases } from './cases.ts';
import { addDaemons } from './daemons.ts';
import type { SubmissionMeans } from './submit/submit.ts';
import { addSubmission } from './submit/requests.ts';
import { addEvents } from './events.ts';
import { addFleet, type FleetDeps } from './fleet.ts';
import { addInsight } from './insight.ts';
import { addInspector } from './inspector.ts';
import { addLog } from './log.ts';
import { API, prepareApi, type Api } from './kit.ts';
import { addMachine, addMachineParts } from './machine.ts';
import { addMachines, type MachinesDeps } from './machines.ts';
import { addProviders, type ProvidersDeps } from './providers.ts';
import { addRecords } from './records.ts';
import { addResolve } from './resolve.ts';
import { addRolls, type RollsDeps } from './rolls.ts';
import { addStats } from './stats.ts';
import { addWebhooks } from './webhooks.ts';
import { PROBLEMS, PROBLEM_CODES, Problem, type ProblemCode } from './problem.ts';

export interface ApiDeps
  extends
    ConsoleViews,
    MachinesDeps,
    FleetDeps,
    StreamDeps,
    ProvidersDeps,
    ConditionsDeps,
    RollsDeps,
    AboutDeps {
  readonly access: Access;
  /** Null: it is off. */
  readonly inspector: Inspector | null;
  readonly webhooks: WebhooksView;
  readonly submission: SubmissionMeans;
  /** Address for browsers, if it is not the requested one. */
  readonly publicUrl?: string | undefined;
}

/** Everything under `/api/v1`, and the pages of its problems. */
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
  const { fleet, index, access } = deps;
  addLogin(api, access);
  addDeviceLogin(api, access, deps.publicUrl);
  addDeviceDecision(api, access);
  addLogins(api, access);
  addTokens(api, access);
  addFleet(api, deps);
  addMachines(api, deps);
  addMachine(api, fleet);
  addResolve(api, fleet, index);
  addStream(api, deps);
  addProviders(api, deps);
  addInsight(api, deps.insight, deps.history);
  addMachineParts(api, deps);
  addConditions(api, deps);
  addRolls(api, deps);
  addRecords(api, deps.records);
  addStats(api, deps);
  addCases(api, deps);
  addDaemons(api, deps);
  addInspector(api, deps);
  addEvents(api, deps.events);
  addWebhooks(api, deps);
  addSubmission(api, { ...deps.submission, fleet });
  addAbout(api, deps);
  addLog(api, deps);
}

/** The API's description as OpenAPI 3.1 JSON, made from its schemas. */
export async function describeApi(): Promise<string> {
  const app = Fastify();
  // Only handlers use these dependencies, and none runs here.
  const access = { options: { clock: {} } };
  const nothing = {
    access,
    clock: {},
    submission: {},
    records: {},
    events: {},
    webhooks: { repository: {} },
    version: '',
  };
  await addApi(app, nothing as unknown as ApiDeps);
  const { body } = await app.inject(`${API}/openapi.json`);
  await app.close();
  return body;
}

/** `/problems/<code>`: the page behind a problem's `type`, as plain text. */
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
