import { randomUUID } from 'node:crypto';
import { createFaultBook } from '../kit/fault-book.ts';
import { createJournal } from '../kit/journal.ts';
import { type ManualClock, realClock } from '../kit/clock.ts';
import { createGenerator } from '../kit/random.ts';
import { listen } from '../kit/listen.ts';
import { ADMIN_PATH } from '../kit/admin.ts';
import { createControlsAdmin } from './admin.ts';
import { catalogueRoutes } from './api/catalogue-routes.ts';
import { projectThingRoutes } from './api/project-things.ts';
import { orderRoutes } from './api/server-orders.ts';
import { serverRoutes } from './api/servers.ts';
import { createControls } from './controls.ts';
import type { Core } from './core.ts';
import type { FaultEffect, FaultMatch, Subject } from './fault-rules.ts';
import { createPipeline } from './http/pipeline.ts';
import { createServer } from './http/server.ts';
import { createLife } from './life/life.ts';
import { FAST_DIVISOR, timingsOf } from './life/timings.ts';
import type { LatitudeEmulator, LatitudeEmulatorOptions } from './options.ts';
import { DEFAULT_PLANS } from './state/catalogue.ts';
import { changeKnobs, DEFAULT_KNOBS } from './state/knobs.ts';
import { createWorld } from './state/world.ts';

const SERVERS_MAX = 1_000;
const MINUTE_MS = 60_000;
/** Keeps the stream of chance apart from that of ids. */
const CHANCE_SALT = 0x9e3779b9;
const nothing = () => undefined;
const newToken = () => `ak_${randomUUID().replaceAll('-', '')}`;

/**
 * Starts an emulator of the API of Latitude.sh.
 * @throws {ZodError} a rule or a knob that cannot be understood. @throws {ListenError} an address
 *   cannot be listened on.
 */
export async function startLatitudeEmulator(
  options: LatitudeEmulatorOptions,
): Promise<LatitudeEmulator> {
  const core = coreOf(options);
  const { world } = core;
  const life = createLife(core);
  const journal = createJournal({ requestCount: 0 });
  const pipeline = createPipeline(core, journal);
  const routes = [
    ...serverRoutes(core, life),
    ...orderRoutes(core, life),
    ...projectThingRoutes(core),
    ...catalogueRoutes(core),
  ];
  const paths = routes.map(({ path }) => path);
  const manual = isManual(core.clock) ? core.clock : null;
  const controls = createControls({ core, life, journal, routes: paths, manual, newToken });
  options.faults?.forEach((rule) => controls.addFault(rule));
  const { host, port } = options.listen;
  const app = createServer(core, routes, pipeline, host);
  const adminToken = `admin-${randomUUID()}`;
  const admin = createControlsAdmin(controls, adminToken, host);
  const url = await listen(app, options.listen);
  const adminUrl = await listen(admin, {
    ...options.listen,
    port: port === 0 ? 0 : port + 1,
  }).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  let closing: Promise<void> | undefined;
  const close = async () => {
    pipeline.close();
    life.close();
    await Promise.all([app.close(), admin.close()]);
  };
  return {
    url,
    token: world.keys[0]!.token,
    otherToken: world.keys[1]!.token,
    project: world.projects[0]!.id,
    adminUrl: `${adminUrl}${ADMIN_PATH}`,
    adminToken,
    ...controls,
    close: () => (closing ??= close()),
  };
}

const isManual = (clock: Core['clock']): clock is ManualClock => 'stepTowards' in clock;

function coreOf(options: LatitudeEmulatorOptions): Core {
  const { clock = realClock, seed = 1, plans = DEFAULT_PLANS, knobs = {}, log } = options;
  const divisor = options.profile === 'fast' ? FAST_DIVISOR : 1;
  const chance = createGenerator(seed ^ CHANCE_SALT);
  return {
    world: createWorld({
      ...{ plans, stock: options.stock, newToken },
      ...{ serversMax: options.serversMax ?? SERVERS_MAX },
      ...{ ids: createGenerator(seed), nowMs: clock.now() },
    }),
    clock,
    chance,
    faults: createFaultBook<FaultMatch, FaultEffect, Subject>({
      store: { faults: [], faultCount: 0 },
      chance,
      changed: nothing,
      once: new Set(['locked', 'addressChanges', 'scheduledDeletion', 'movedProject']),
    }),
    knobs: changeKnobs({ ...DEFAULT_KNOBS }, knobs),
    timings: timingsOf(divisor, options.timings),
    limits: { reads: 60, writes: 20, windowMs: MINUTE_MS / divisor, ...options.limits },
    hooks: options.hooks,
    log: log ?? { debug: nothing, info: nothing, warn: nothing, error: nothing },
  };
}
