import { z } from 'zod';
import type { Api } from './api.ts';
import type { Core } from '../core.ts';
import { projectFor } from './access.ts';
import { invalid } from './api-error.ts';
import { ok, readBody, type Call, type Route } from './call.ts';
import { facilitiesAt, leftOnDemand, unknownIn } from './stock.ts';

const checkBody = z.looseObject({
  servers: z.array(
    z.looseObject({
      plan: z.string(),
      metro: z.string().optional(),
      facility: z.string().optional(),
      quantity: z
        .union([z.int().min(0), z.string().regex(/^\d+$/)], { error: 'expected a whole number' })
        .optional(),
    }),
  ),
});
type Server = z.output<typeof checkBody>['servers'][number];
type Place = 'facility' | 'metro';

/** What can be had on demand: how much there is, whether a wish can be met, plans of a project. */
export function capacityRoutes(api: Api): Route[] {
  const { core, views, show } = api;
  const levels = (place: Place) => () => ok({ capacity: report(core, place) });
  const check = (place: Place) => (call: Call) => {
    const { servers } = readBody(checkBody, call.body);
    return ok({ servers: servers.map((server, i) => checked(core, place, server, i)) });
  };
  const reads = true;
  return [
    { method: 'GET', path: '/capacity', handle: levels('facility') },
    { method: 'GET', path: '/capacity/metros', handle: levels('metro') },
    { method: 'POST', path: '/capacity', handle: check('facility'), reads },
    { method: 'POST', path: '/capacity/metros', handle: check('metro'), reads },
    {
      method: 'GET',
      path: '/projects/{id}/plans',
      handle: (call) => {
        projectFor(core, call.caller, call.params['id']!);
        return ok({
          plans: core.state.catalogue.plans.map((plan) => show(call, views.plan(plan))),
        });
      },
    },
  ];
}

/** Per place and plan one of the three words that the service has for it. */
function report(core: Core, place: Place) {
  const { plans, metros, facilities } = core.state.catalogue;
  const codes = (place === 'metro' ? metros : facilities).map(({ code }) => code);
  const level = (code: string, plan: string) => levelOf(left(core, place, code, plan));
  return Object.fromEntries(
    codes.map((code) => [
      code,
      Object.fromEntries(plans.map(({ slug }) => [slug, { level: level(code, slug) }])),
    ]),
  );
}

const FEW = 2;
const levelOf = (left: number) => {
  if (left === 0) return 'unavailable';
  return left <= FEW ? 'limited' : 'normal';
};

const left = (core: Core, place: Place, code: string, plan: string): number =>
  facilitiesAt(core, { [place]: code })
    .map((facility) => leftOnDemand(core, facility, plan))
    .reduce((sum, one) => sum + one, 0);

/** What was asked for, and whether it can be had. @throws {ApiError} 422 naming the field. */
function checked(core: Core, place: Place, server: Server, index: number) {
  const code = server[place];
  const at = `servers.${index}`;
  if (code === undefined) throw invalid(`${at}.${place}: must be given`);
  const problems = unknownIn(core, { plan: server.plan, [place]: code });
  if (problems.length > 0) throw invalid(...problems.map((problem) => `${at}.${problem}`));
  const quantity = server.quantity ?? '1';
  const available = left(core, place, code, server.plan) >= Number(quantity);
  return { [place]: code, plan: server.plan, quantity: String(quantity), available };
}
