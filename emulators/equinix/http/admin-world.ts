import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Core } from '../core.ts';
import type { Reservation } from '../state/state.ts';
import type { AdminDeps } from './admin-deps.ts';
import { ApiError, invalid, notFound } from '../api/api-error.ts';
import { readBody } from '../api/call.ts';
import { rememberReservation } from '../lifecycle/device-record.ts';
import { addReservation } from '../state/genesis.ts';
import { isProvisionable } from '../state/state.ts';
import { reservationSchema } from '../world.ts';
import { bodyOf } from './admin-body.ts';

const stateBody = z.strictObject({
  state: z.string().regex(/^[a-z][a-z0-9_]*$/, 'expected a word such as active'),
});
const { provisionable, spare, needOfService, terminationTime } = reservationSchema.shape;
const reservationPatch = z.strictObject({
  provisionable,
  spare,
  needOfService,
  terminationTime: terminationTime.or(z.null()),
});

interface Id {
  id: string;
}

/** What happens to devices and reservations without a client of the API. */
export function adminWorldRoutes(
  app: FastifyInstance,
  { core, controls, save }: Pick<AdminDeps, 'core' | 'controls' | 'save'>,
): void {
  const find = (id: string): Reservation => {
    const reservation = core.state.reservations.get(id);
    if (!reservation) throw notFound();
    return reservation;
  };
  app.post<{ Params: Id }>('/devices/:id/state', async (request) => {
    const { id } = request.params;
    if (!core.state.devices.has(id)) throw notFound();
    controls.setDeviceState(id, readBody(stateBody, bodyOf(request)).state);
    await save();
    return { id, state: core.state.devices.get(id)?.state ?? 'deleted' };
  });
  app.post('/reservations', async (request, reply) => {
    const reservation = add(core, bodyOf(request));
    await save();
    void reply.code(201);
    return reservation;
  });
  app.patch<{ Params: Id }>('/reservations/:id', async (request) => {
    const reservation = find(request.params.id);
    change(core, reservation, bodyOf(request));
    await save();
    return reservation;
  });
  app.post<{ Params: Id }>('/reservations/:id/snatch', async ({ params }, reply) => {
    if (!isProvisionable(find(params.id))) {
      throw new ApiError(409, ['The reservation is not free']);
    }
    const device = controls.snatch(params.id);
    await save();
    void reply.code(201);
    return device;
  });
}

function add(core: Core, body: Record<string, unknown>): Reservation {
  const wanted = readBody(reservationSchema, body);
  const problem = unknownReference(core, wanted);
  if (problem) throw invalid(problem);
  const reservation = addReservation(core.state, core.ids, wanted, core.now());
  core.changed();
  return reservation;
}

function change(core: Core, reservation: Reservation, body: Record<string, unknown>): void {
  const parsed = reservationPatch.safeParse(body);
  if (!parsed.success) {
    throw invalid(...parsed.error.issues.map((one) => `${one.path.join('.')}: ${one.message}`));
  }
  const { terminationTime, ...flags } = parsed.data;
  rememberReservation(core, reservation);
  Object.assign(reservation, flags);
  if (terminationTime !== undefined) reservation.terminationTimeMs = terminationTime;
  core.changed();
}

function unknownReference({ state }: Core, wanted: z.output<typeof reservationSchema>) {
  const { plans, facilities } = state.catalogue;
  const { id, project, plan, facility } = wanted;
  const projects = [...state.projects.values()];
  if (id !== undefined && state.reservations.has(id)) return `id: is taken already`;
  if (project && !projects.some((one) => one.id === project || one.name === project)) {
    return `project: unknown project "${project}"`;
  }
  if (plan && !plans.some((one) => one.slug === plan)) return `plan: unknown plan "${plan}"`;
  return facility && !facilities.some((one) => one.code === facility)
    ? `facility: unknown facility "${facility}"`
    : undefined;
}
