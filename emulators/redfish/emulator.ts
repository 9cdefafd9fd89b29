import { randomUUID } from 'node:crypto';
import { createFaultBook } from '../kit/fault-book.ts';
import { createJournal } from '../kit/journal.ts';
import { type ManualClock, realClock } from '../kit/clock.ts';
import { createGenerator } from '../kit/random.ts';
import { listen } from '../kit/listen.ts';
import { ADMIN_PATH } from '../kit/admin.ts';
import { createControlsAdmin } from './admin.ts';
import { issueCertificate } from './certificate.ts';
import { type Controls, createControls } from './controls.ts';
import type { Core } from './core.ts';
import { type Door, openDoor } from './door.ts';
import type { FaultEffect, FaultMatch, Subject } from './fault-rules.ts';
import type { RedfishEmulator, RedfishEmulatorOptions } from './options.ts';
import { createPipeline, type FishJournal } from './pipeline.ts';
import { createPower, type Power, REAL_TIMINGS, type Timings } from './power.ts';
import { PROFILES } from './profiles.ts';
import { resourcesOf } from './resources/resources.ts';
import { createServer } from './server.ts';
import { createWorld } from './world.ts';

const FAST = 100;
/** Keeps the stream of chance apart from that of ids. */
const CHANCE_SALT = 0x9e3779b9;
const nothing = () => undefined;

/**
 * Starts an emulator of machines' BMCs, each behind a port of its own.
 * @throws {ZodError} a rule that cannot be understood. @throws {RangeError} the profile cannot have so
 *   many systems on so many BMCs. @throws {ListenError} an address cannot be listened on.
 */
export async function startRedfishEmulator(
  options: RedfishEmulatorOptions,
): Promise<RedfishEmulator> {
  const core = coreOf(options);
  const power = createPower(core);
  const journal: FishJournal = createJournal({ requestCount: 0 });
  const pipeline = createPipeline(core, power, journal);
  const resources = resourcesOf(core);
  const serve = await createServer(resources, pipeline);
  const { port, ...where } = options.listen;
  const portOf = (n: number) => (port === 0 ? 0 : port + n);
  const doors: Door[] = [];
  const closeDoors = () => Promise.all(doors.map((door) => door.close()));
  const adminToken = `admin-${randomUUID()}`;
  try {
    await startSystems(core, power, options);
    for (const [n, bmc] of core.bmcs.entries()) {
      const certificate = await issueCertificate(bmc.name);
      const door = await openDoor({
        at: { ...where, port: portOf(n) },
        certificate,
        serve: (request, response) => serve(bmc, request, response),
        isDeaf: () => bmc.restart !== null && core.clock.now() < bmc.restart.deafUntilMs,
      });
      doors.push(door);
    }
    const routes = resources.map(({ path }) => path);
    const manual = isManual(core.clock) ? core.clock : null;
    const controls: Controls = createControls({ core, power, journal, doors, routes, manual });
    for (const rule of options.faults ?? []) await controls.addFault(rule);
    const admin = createControlsAdmin(controls, adminToken, where.host);
    const url = await listen(admin, { ...where, port: portOf(core.bmcs.length) });
    let closing: Promise<void> | undefined;
    const close = async () => {
      pipeline.close();
      power.close();
      core.hooks?.close?.();
      await Promise.all([admin.close(), closeDoors()]);
    };
    return {
      adminUrl: `${url}${ADMIN_PATH}`,
      adminToken,
      credentials: core.credentials,
      ...controls,
      close: () => (closing ??= close()),
    };
  } catch (error) {
    core.hooks?.close?.();
    await closeDoors();
    throw error;
  }
}

async function startSystems(
  core: Core,
  power: Power,
  { startsOn = false }: RedfishEmulatorOptions,
) {
  for (const bmc of core.bmcs) {
    for (const system of bmc.systems) {
      const { name, serial, uuid, mac } = system;
      await core.hooks?.assign?.({ name, serial, uuid, mac });
      if (startsOn) power.start(bmc, system);
    }
  }
  await power.settled();
}

const isManual = (clock: Core['clock']): clock is ManualClock => 'stepTowards' in clock;

function coreOf(options: RedfishEmulatorOptions): Core {
  const { clock = realClock, seed = 1, systems = 1, log, hooks } = options;
  const profile = PROFILES[options.profile ?? 'generic'];
  const pace = options.pace === 'fast' ? FAST : 1;
  const ids = createGenerator(seed);
  return {
    profile,
    bmcs: createWorld({ profile, systems, bmcs: options.bmcs ?? systems, ids, nowMs: clock.now() }),
    clock,
    timings: timingsOf(pace, options.timings),
    faults: createFaultBook<FaultMatch, FaultEffect, Subject>({
      store: { faults: [], faultCount: 0 },
      chance: createGenerator(seed ^ CHANCE_SALT),
      changed: nothing,
      once: new Set(['sessionsForgotten', 'bmcRestart', 'bmcHangs']),
    }),
    credentials: { username: 'admin', password: randomUUID() },
    hooks,
    log: log ?? { debug: nothing, info: nothing, warn: nothing, error: nothing },
  };
}

/** `given` ones are taken as they are, not divided. */
function timingsOf(pace: number, given: Partial<Timings> = {}): Timings {
  const scaled = Object.entries(REAL_TIMINGS).map(([name, ms]) => [name, Number(ms) / pace]);
  return { ...(Object.fromEntries(scaled) as unknown as Timings), ...given };
}
