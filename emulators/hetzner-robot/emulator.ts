import { randomUUID } from 'node:crypto';
import { createActivity } from '../kit/activity.ts';
import { createJournal } from '../kit/journal.ts';
import { type ManualClock, realClock } from '../kit/clock.ts';
import { createGenerator } from '../kit/random.ts';
import { createFaultBook } from '../kit/fault-book.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { takeFreeAddress } from '../hosts/serving/addresses.ts';
import { listen } from '../kit/listen.ts';
import { ADMIN_PATH } from '../kit/admin.ts';
import { createControlsAdmin } from './admin.ts';
import { createLimits } from './api/limits.ts';
import { ROUTES } from './api/routes.ts';
import { createControls } from './controls.ts';
import type { Core, Credentials } from './core.ts';
import type { FaultEffect, FaultMatch, Subject } from './fault-rules.ts';
import { openDoor } from './http/door.ts';
import { createPipeline } from './http/pipeline.ts';
import { createRouter } from './http/server.ts';
import { createMachine, type Machine } from './machine/machine.ts';
import { REAL_TIMINGS, type Timings } from './machine/timings.ts';
import type { RobotEmulator, RobotEmulatorOptions } from './options.ts';
import { createWorld, type Server } from './world.ts';

const FAST = 100;
/** Keeps the stream of chance apart from that of ids. */
const CHANCE_SALT = 0x9e3779b9;
const nothing = () => undefined;

/**
 * Starts an emulator of the Robot web service, with a machine behind each server.
 * @throws {ZodError} a rule that cannot be understood. @throws {ListenError} an address cannot be
 *   listened on. @throws {Error} this system has no addresses 127.0.0.0/8 for the machines.
 */
export async function startRobotEmulator(options: RobotEmulatorOptions): Promise<RobotEmulator> {
  const activity = createActivity();
  const { core, machines, sshPort } = await coreOf(options, activity);
  const journal = createJournal({ requestCount: 0 });
  const closeMachines = () => Promise.all([...machines.values()].map((each) => each.close()));
  try {
    const pipeline = createPipeline(core, journal, () => controls.block());
    const serve = await createRouter(ROUTES, pipeline);
    const { host, port } = options.listen;
    const door = await openDoor({ host, port }, serve);
    const manual = isManual(core.clock) ? core.clock : null;
    const routes = ROUTES.map(({ path }) => path);
    const controls = createControls({ core, journal, door, activity, routes, manual });
    const adminToken = `admin-${randomUUID()}`;
    try {
      for (const rule of options.faults ?? []) await controls.addFault(rule);
      const admin = createControlsAdmin(controls, adminToken, host);
      const url = await listen(admin, { host, port: port === 0 ? 0 : port + 1 });
      let closing: Promise<void> | undefined;
      const close = async () => {
        pipeline.close();
        controls.unblock();
        await Promise.all([admin.close(), door.close(), closeMachines()]);
      };
      return {
        ...controls,
        url: door.url,
        adminUrl: `${url}${ADMIN_PATH}`,
        adminToken,
        get credentials() {
          return core.credentials;
        },
        sshPort,
        close: () => (closing ??= close()),
      };
    } catch (error) {
      await door.close();
      throw error;
    }
  } catch (error) {
    await closeMachines();
    throw error;
  }
}

const isManual = (clock: Core['clock']): clock is ManualClock => 'stepTowards' in clock;

async function coreOf(
  options: RobotEmulatorOptions,
  activity: ReturnType<typeof createActivity>,
): Promise<{ core: Core; machines: ReadonlyMap<number, Machine>; sshPort: number }> {
  const { clock = realClock, seed = 1, servers: wanted = 1, freePrefix = 'free-', hosts } = options;
  const log = options.log ?? { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const ids = createGenerator(seed);
  const servers = createWorld({ servers: wanted, ids, freePrefix });
  const pace = options.profile === 'fast' ? FAST : 1;
  const timings = timingsOf(pace, options.timings);
  const faults = createFaultBook<FaultMatch, FaultEffect, Subject>({
    store: { faults: [], faultCount: 0 },
    chance: createGenerator(seed ^ CHANCE_SALT),
    changed: nothing,
    once: new Set(['maintenance', 'nameTaken']),
  });
  const places = await placesOf(servers, options);
  const machines = new Map<number, Machine>();
  for (const server of servers) {
    const place = places.get(server.number) ?? null;
    server.ip = place?.address ?? null;
    const deps = { clock, timings, pace, faults, activity, log, hosts, uuid: randomUUID, place };
    machines.set(server.number, createMachine(server, deps));
  }
  let credentials: Credentials = { user: '#ws+fakerobot', password: randomUUID() };
  const core: Core = {
    servers,
    machines,
    keys: new Map(),
    clock,
    timings,
    pace,
    faults,
    limits: createLimits(options.limits),
    get credentials() {
      return credentials;
    },
    setPassword(password) {
      credentials = { ...credentials, password };
    },
    ids,
    nameLength: options.nameLength ?? Infinity,
    log,
  };
  const [first] = places.values();
  return { core, machines, sshPort: first?.port ?? options.sshPort ?? 0 };
}

interface Place {
  readonly address: string;
  readonly port: number;
}

/** Every machine has an address of its own, and all have one port. */
async function placesOf(
  servers: readonly Server[],
  { servers: seeds, sshPort = 0, hosts }: RobotEmulatorOptions,
): Promise<ReadonlyMap<number, Place>> {
  const places = new Map<number, Place>();
  const addresses = new Set<string>();
  const port = hosts || sshPort !== 0 ? sshPort : await takeFreePort(new Set());
  for (const [n, server] of servers.entries()) {
    if (typeof seeds === 'object' && seeds[n]?.hasIpv4 === false) continue;
    const device = { id: String(server.number), hostname: server.name, authorizedKeys: [] };
    const assigned = await hosts?.assign(device);
    const place = assigned
      ? { address: assigned.address, port: assigned.sshPort }
      : { address: await takeFreeAddress(addresses, port), port };
    places.set(server.number, place);
  }
  return places;
}

/** `given` ones are taken as they are, not divided. */
function timingsOf(pace: number, given: Partial<Timings> = {}): Timings {
  const scaled = Object.entries(REAL_TIMINGS).map(([name, ms]) => [name, Number(ms) / pace]);
  return { ...(Object.fromEntries(scaled) as unknown as Timings), ...given };
}
