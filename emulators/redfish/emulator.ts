import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADMIN_PATH, createAdmin, orRefuse } from '../kit/admin.ts';
import { createApi } from '../kit/api.ts';
import { addFaults, type Base, baseOf, controlsOf, timingsOf } from '../kit/emulator.ts';
import { listen } from '../kit/listen.ts';
import { apiOf, isAway } from './api.ts';
import { type Certificate, issueCertificate } from './certificate.ts';
import type { RedfishCall, RackCore, Rack } from './core.ts';
import { type BmcListener, openBmcListener } from './listener.ts';
import { type RedfishFault, type FaultEffect, FAULTS } from './faults.ts';
import type {
  BmcSnapshot,
  RedfishEntry,
  RedfishEmulator,
  RedfishEmulatorOptions,
} from './options.ts';
import { createPower, REAL_TIMINGS } from './power.ts';
import { RESET_TYPES, VENDORS, type ResetType } from './vendors.ts';
import { liveSessions } from './resources/sessions.ts';
import { systemPath } from './resources/views.ts';
import { type Bmc, createWorld, type ComputerSystem, type Health, HEALTHS } from './world.ts';

/** A BMC and its address. */
interface BmcEndpoint {
  readonly bmc: Bmc;
  readonly listener: BmcListener;
  certificate(): Certificate;
}

/**
 * Starts an emulator of machines' BMCs, each with its own port.
 * @throws {ZodError} a rule is invalid. @throws {RangeError} the vendor's BMCs cannot have this
 * many systems.
 * @throws {ListenError} an address is not available.
 */
export async function startRedfishEmulator(
  options: RedfishEmulatorOptions,
): Promise<RedfishEmulator> {
  const places: BmcEndpoint[] = [];
  const store = { faults: [], faultCount: 0, requestCount: 0 };
  const base = baseOf(options, FAULTS, { store, changed: () => fitListeners(base, places) });
  const core = coreOf(options, base);
  const rack: Rack = { ...core, power: createPower(core) };
  const owners = new WeakMap<IncomingMessage, Bmc>();
  const api = apiOf(rack, (request) => owners.get(request)!);
  const app = createApi<RedfishCall, RedfishFault['match'], FaultEffect>(api, base);
  const parts = { form: FAULTS, api, ...rulesOf(rack, places), settled: rack.power.settled };
  const { requests, ...common } = controlsOf(base, parts);
  const controls = {
    ...common,
    bmcs: () => places.map((place) => snapshotOf(place, rack.clock.now())),
    reset: (name: string, type: ResetType) => {
      const { bmc, system } = foundIn(rack, name);
      rack.power.reset(bmc, system, type);
    },
    setHealth: (name: string, health: Health, message?: string) => {
      const { system } = foundIn(rack, name);
      system.health = health;
      const atMs = rack.clock.now();
      if (message !== undefined) system.log.push({ severity: health, message, atMs });
    },
  };
  const { host, port } = options.listen;
  const at = (n: number) => ({ ...options.listen, port: port === 0 ? 0 : port + n });
  const serve =
    (bmc: Bmc): Parameters<typeof openBmcListener>[0]['serve'] =>
    (request, response) => {
      owners.set(request, bmc);
      bmc.inFlight++;
      bmc.inFlightMax = Math.max(bmc.inFlightMax, bmc.inFlight);
      response.once('close', () => void bmc.inFlight--);
      app.routing(request, response);
    };
  const adminToken = `admin-${randomUUID()}`;
  const admin = createAdmin({
    ...{ name: api.name, controls: { ...controls, requests }, token: adminToken, host },
    routes: (scope) => addAdmin(scope, controls),
  });
  let closing: Promise<unknown> | undefined;
  const close = async () => {
    rack.power.close();
    rack.hooks?.close?.();
    await Promise.all([
      app.close(),
      admin.close(),
      ...places.map(({ listener }) => listener.close()),
    ]);
  };
  try {
    await app.ready();
    await startSystems(rack, options);
    const stranger = await issueCertificate('another');
    for (const [n, bmc] of rack.bmcs.entries()) {
      const own = await issueCertificate(bmc.name);
      const certificate = () => (struckBy(rack, 'certificate')(bmc) ? stranger : own);
      const isDeaf = () => isAway(bmc, rack.clock.now());
      const listener = await openBmcListener({ at: at(n), certificate, isDeaf, serve: serve(bmc) });
      places.push({ bmc, listener, certificate });
    }
    addFaults(controls, options.faults);
    const adminUrl = `${await listen(admin, at(rack.bmcs.length))}${ADMIN_PATH}`;
    return {
      ...{ ...controls, adminUrl, adminToken, credentials: core.credentials },
      requests: (afterSeq) => requests(afterSeq) as readonly RedfishEntry[],
      close: async () => void (await (closing ??= close())),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startSystems(
  { bmcs, hooks, power }: Rack,
  { startsOn = false }: RedfishEmulatorOptions,
) {
  for (const bmc of bmcs) {
    for (const system of bmc.systems) {
      const { name, serial, uuid, mac } = system;
      await hooks?.assign?.({ name, serial, uuid, mac });
      if (startsOn) power.start(bmc, system);
    }
  }
  await power.settled();
}

function coreOf(
  options: RedfishEmulatorOptions,
  { clock, faults, ids, log }: Base<RedfishFault['match'], FaultEffect>,
): RackCore {
  const { systems = 1, bmcs = systems, hooks } = options;
  const vendor = VENDORS[options.vendor ?? 'generic'];
  return {
    ...{ vendor, clock, faults, hooks, log },
    bmcs: createWorld({ vendor, systems, bmcs, ids, nowMs: clock.now() }),
    timings: timingsOf(REAL_TIMINGS, options.profile, options.timings),
    credentials: { username: 'admin', password: randomUUID() },
  };
}

/** The BMCs with an active rule of this type. Does not count the rule. */
function struckBy({ faults }: Pick<RackCore, 'faults'>, type: FaultEffect['type']) {
  const rules = faults.list().filter(({ effect }) => effect.type === type);
  return ({ name }: Bmc): boolean => rules.some(({ match }) => (match.bmc ?? name) === name);
}

function fitListeners(core: Pick<RackCore, 'faults'>, places: readonly BmcEndpoint[]): void {
  const isShut = struckBy(core, 'refuse');
  for (const { bmc, listener } of places) listener.setOpen(!isShut(bmc));
}

/** Valid names in rules, and a new rule's immediate effect on a BMC. */
function rulesOf({ bmcs, faults, power }: Rack, places: readonly BmcEndpoint[]) {
  const systems = bmcs.flatMap((bmc) => bmc.systems);
  const happen = (bmc: Bmc) => {
    const subject = { method: '', route: '', bmc: bmc.name };
    const types = ['sessionsForgotten', 'bmcHangs', 'bmcRestart'] as const;
    for (const { effect } of faults.strike(types, subject)) {
      if (effect.type === 'sessionsForgotten') bmc.sessions.clear();
      if (effect.type === 'bmcHangs') bmc.isHanging = true;
      if (effect.type === 'bmcRestart') power.restartBmc(bmc, effect.ms);
    }
  };
  return {
    known: () => ({ bmc: bmcs.map(({ name }) => name), system: systems.map(({ name }) => name) }),
    ruled({ effect }: RedfishFault) {
      bmcs.forEach(happen);
      fitListeners({ faults }, places);
      if (effect.type === 'certificate') for (const { listener } of places) listener.cut();
    },
  };
}

/** @throws {Error} there is no system with this name. */
function foundIn({ bmcs }: Rack, name: string) {
  for (const bmc of bmcs) {
    const system = bmc.systems.find((one) => one.name === name);
    if (system) return { bmc, system };
  }
  throw new Error(`there is no system ${name}`);
}

const healthBody = z.strictObject({ health: z.enum(HEALTHS), message: z.string().optional() });
const resetBody = z.strictObject({ ResetType: z.enum(RESET_TYPES) });

function addAdmin(
  app: FastifyInstance,
  inside: Pick<RedfishEmulator, 'bmcs' | 'reset' | 'setHealth'>,
): void {
  app.get('/state', async () => ({ bmcs: inside.bmcs() }));
  app.post<{ Params: { name: string } }>('/systems/:name/reset', async ({ params, body }) => {
    const { ResetType: type } = resetBody.parse(body);
    orRefuse(404, () => inside.reset(params.name, type));
    return {};
  });
  app.post<{ Params: { name: string } }>('/systems/:name/health', async ({ params, body }) => {
    const { health, message } = healthBody.parse(body);
    orRefuse(404, () => inside.setHealth(params.name, health, message));
    return {};
  });
}

const snapshotOf = ({ bmc, listener, certificate }: BmcEndpoint, nowMs: number): BmcSnapshot => ({
  name: bmc.name,
  url: listener.url,
  certSha256: certificate().sha256,
  sessions: liveSessions(bmc, nowMs).size,
  sessionsMost: bmc.sessionsMost,
  requestsMost: bmc.inFlightMax,
  systems: bmc.systems.map(systemSnapshot),
});

const systemSnapshot = ({ progress, boot, media, ...system }: ComputerSystem) => ({
  name: system.name,
  path: systemPath(system.id),
  serial: system.serial,
  uuid: system.uuid,
  mac: system.mac,
  power: system.power,
  progress: progress.state,
  assetTag: system.assetTag,
  boot: { ...boot },
  media: media.map(({ id, image }) => ({ id, image })),
});
