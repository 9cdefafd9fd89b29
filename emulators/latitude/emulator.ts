import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import {
  baseOf,
  type Emulator,
  type EmulatorOptions,
  paceOf,
  type Profile,
  startEmulator,
  timingsOf,
} from '../kit/emulator.ts';
import type { MachineHooks } from '../kit/hooks.ts';
import { apiOf, type LatitudeFault, type LatitudeFaultRule, FAULTS } from './api.ts';
import { OPERATING_SYSTEMS, SITES } from './catalogue.ts';
import { createLife, type LatitudeTimings, TIMINGS } from './life/life.ts';
import type { Limits } from './limits.ts';
import { orderRoutes } from './orders.ts';
import { projectResourceRoutes } from './project-resources.ts';
import { readRoutes } from './reads.ts';
import { serverRoutes } from './servers.ts';
import {
  addServer,
  type Billing,
  createWorld,
  isThere,
  type Stock,
  type LatitudeWorld,
} from './world.ts';

export interface LatitudeEmulatorOptions extends EmulatorOptions<LatitudeFaultRule> {
  /** By plan and site. Default: 20 of four plans at every site. Other plans do not exist. */
  readonly stock?: Stock;
  /** `fast`: everything a hundred times as fast, including the limits' minute. Default `real`. */
  readonly profile?: Profile;
  readonly timings?: Partial<LatitudeTimings>;
  /** Default: 60 reads and 20 writes per minute. */
  readonly limits?: Partial<Limits>;
  /** Without hooks servers exist on paper only. */
  readonly hooks?: MachineHooks;
}

export interface ServerSnapshot {
  readonly id: string;
  readonly hostname: string;
  /** Id. */
  readonly project: string;
  readonly plan: string;
  readonly site: string;
  readonly status: string;
  readonly billing: Billing;
  readonly address: string | null;
  readonly operatingSystem: string;
  readonly raid: string | null;
  /** Id of its installation's user data. */
  readonly userData: string | null;
  readonly sshKeys: readonly string[];
}

export interface UserDataSnapshot {
  readonly id: string;
  readonly project: string;
  readonly description: string;
  /** The content itself may be secret. */
  readonly contentLength: number;
}

/** Additions of this emulator to the common interface. */
interface Inside {
  /** In the order of creation, without deleted servers. */
  servers(): readonly ServerSnapshot[];
  userData(): readonly UserDataSnapshot[];
  /** Adds a stranger's server to the on-demand project, installed long ago. @returns its id. */
  addStranger(hostname: string): string;
}

export interface LatitudeEmulator extends Emulator<LatitudeFaultRule, LatitudeFault>, Inside {
  readonly token: string;
  /** Id of the on-demand project. */
  readonly project: string;
  /** Id of the project whose servers are paid by the year. */
  readonly reservedProject: string;
}

const MINUTE_MS = 60_000;
const strangerBody = z.strictObject({ hostname: z.string().min(1) });

/**
 * Starts an emulator of the part of Latitude.sh's API that the driver needs.
 * @throws {ZodError} a rule is invalid. @throws {ListenError} an address is not available.
 */
export async function startLatitudeEmulator(
  options: LatitudeEmulatorOptions,
): Promise<LatitudeEmulator> {
  const { profile, stock, hooks } = options;
  const base = baseOf(options, FAULTS);
  const { clock, log, faults } = base;
  const world = createWorld({ ids: base.ids, now: clock.now }, stock);
  const life = createLife({
    ...{ world, clock, log, hooks },
    timings: timingsOf(TIMINGS, profile, options.timings),
    strike: (type, { id: server }) =>
      faults.strikeOne([type], { method: '', route: '', server })?.effect,
  });
  const windowMs = MINUTE_MS / paceOf(profile);
  const limits = { reads: 60, writes: 20, windowMs, ...options.limits };
  const token = `ak_${randomUUID().replaceAll('-', '')}`;
  const routes = [
    ...readRoutes(world),
    ...serverRoutes(world, life),
    ...orderRoutes(world, life),
    ...projectResourceRoutes(world),
  ];
  const inside = insideOf(world);
  const emulator = await startEmulator(base, options, {
    form: FAULTS,
    api: apiOf({ routes, world, token, limits }),
    known: () => ({ server: [...world.servers.keys()] }),
    admin(app) {
      app.get('/state', async () => ({ servers: inside.servers(), userData: inside.userData() }));
      app.post('/strangers', async ({ body }, reply) => {
        void reply.code(201);
        return { id: inside.addStranger(strangerBody.parse(body).hostname) };
      });
    },
    settled: life.settled,
    close: life.close,
  });
  const [project, reservedProject] = world.projects.map(({ id }) => id) as [string, string];
  return { ...emulator, ...inside, token, project, reservedProject };
}

const insideOf = (world: LatitudeWorld): Inside => ({
  servers: () =>
    [...world.servers.values()]
      .filter((server) => isThere(server, world.now()))
      .map(({ id, projectId: project, deploy, ...server }) => ({
        ...{ id, project, hostname: server.hostname, plan: server.plan, site: server.site },
        ...{ status: server.status, billing: server.billing, address: server.address },
        ...{ operatingSystem: deploy.operatingSystem, raid: deploy.raid },
        ...{ userData: deploy.userData, sshKeys: deploy.sshKeys },
      })),
  userData: () =>
    [...world.userData.values()]
      .filter((one) => isThere(one, world.now()))
      .map(({ id, projectId: project, description, content }) => ({
        ...{ id, project, description, contentLength: content.length },
      })),
  addStranger(hostname) {
    const [plan] = world.stock.keys();
    const operatingSystem = OPERATING_SYSTEMS[0]!.slug;
    return addServer(world, {
      ...{ projectId: world.projects[0]!.id, plan: plan!, site: SITES[0]!.slug, hostname },
      ...{ billing: 'hourly', isPaper: true },
      deploy: { operatingSystem, raid: null, userData: null, sshKeys: [] },
    }).id;
  },
});
