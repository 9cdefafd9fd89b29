import { z } from 'zod';
import type { FastifyInstance } from 'fastify';
import { STATES } from '../domain/states.ts';
import { forTraits, TRAIT_NAMES, traitMatcher } from '../domain/traits.ts';
import { problem } from './gate.ts';
import type { FleetView, MachineSummary } from './port.ts';

const once = z.string({
  error: ({ code }) => (code === 'invalid_type' ? 'give it once' : undefined),
});
const oneOrMore = z.union([z.string(), z.array(z.string())]);

/**
 * `?state=Running,Recovering&provider=equinix&q=text&after=<slot>&limit=100`, all optional; and each
 * trait by its name, such as `&location=fr2`.
 */
const Query = z.strictObject({
  state: oneOrMore
    .transform((value) => [value].flat().flatMap((part) => part.split(',')))
    .pipe(z.array(z.enum(STATES)))
    .optional(),
  provider: once.min(1).max(64).optional(),
  ...forTraits(() => once.min(1).max(255).optional()),
  q: once.trim().max(200).optional(),
  after: once.max(300).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});
type Query = z.infer<typeof Query>;

const bySlot = (a: MachineSummary, b: MachineSummary) =>
  a.slot < b.slot ? -1 : Number(a.slot > b.slot);

const textOf = (machine: MachineSummary): string =>
  [
    machine.slot,
    machine.machineId,
    machine.providerId,
    machine.reservationId,
    machine.address,
    ...TRAIT_NAMES.map((name) => machine[name]),
    machine.state,
    machine.substate,
    machine.reason,
    ...machine.holds,
  ]
    .join('\n')
    .toLowerCase();

/** All words must occur somewhere, as in the page's search box. */
function matcher(query: Query): (machine: MachineSummary) => boolean {
  const { state, provider, q } = query;
  const hasTraits = traitMatcher(query);
  const words = (q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return (machine) =>
    (!state || state.includes(machine.state)) &&
    (provider === undefined || machine.provider === provider) &&
    hasTraits(machine) &&
    words.every((word) => textOf(machine).includes(word));
}

/** One page: by slot, after the given one. `next` is the slot to ask for the page that follows. */
function pageOf(fleet: FleetView, query: Query) {
  const { atMs, counts, machines } = fleet.snapshot();
  const matching = machines.filter(matcher(query)).sort(bySlot);
  const rest = matching.filter(({ slot }) => query.after === undefined || slot > query.after);
  const page = rest.slice(0, query.limit);
  const next = rest.length > page.length ? (page.at(-1)?.slot ?? null) : null;
  return { atMs, counts, total: matching.length, machines: page, next };
}

/** `/api/v1/machines` and `/api/v1/machines/<slot>` (the slot may be URL-encoded as one part). */
export function addMachinesApi(app: FastifyInstance, fleet: FleetView): void {
  app.get('/api/v1/machines', async (request, reply) => {
    const query = Query.safeParse(request.query);
    if (query.success) return pageOf(fleet, query.data);
    return reply.code(400).send(problem('malformed', explainQuery(query.error)));
  });
  app.get<{ Params: { '*': string } }>('/api/v1/machines/*', async (request, reply) => {
    const wanted = request.params['*'];
    const machine = fleet.snapshot().machines.find(({ slot }) => slot === wanted);
    return machine ?? reply.code(404).send(problem('not-found', `No machine has slot ${wanted}`));
  });
}

const explainQuery = (error: z.ZodError): string =>
  error.issues.map(({ path, message }) => [path[0], message].filter(Boolean).join(': ')).join('; ');
