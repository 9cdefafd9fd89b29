import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import type { Play } from '../hosts/commands.ts';
import { takeFreeAddress } from '../hosts/serving/addresses.ts';
import { AdminError } from '../kit/admin.ts';
import {
  baseOf,
  type Emulator,
  type EmulatorOptions,
  paceOf,
  type Profile,
  startEmulator,
  timingsOf,
} from '../kit/emulator.ts';
import { createActivity } from '../kit/activity.ts';
import {
  apiOf,
  type RobotCore,
  type Credentials,
  type RobotFault,
  type RobotFaultRule,
  FAULTS,
} from './api.ts';
import {
  type RunningSystem,
  createMachine,
  type DiskHosts,
  type RobotMachine,
  type MachineState,
  REAL_TIMINGS,
  type RobotTimings,
} from './machine/machine.ts';
import { ROUTES } from './routes.ts';
import {
  armed,
  createServer,
  FIRST_NUMBER,
  RESET_TYPES,
  type ResetType,
  type RobotServer,
  type ServerSeed,
} from './world.ts';

export interface RobotEmulatorOptions extends EmulatorOptions<RobotFaultRule> {
  /** Number of servers, or each server's differences from the default. Default 1. */
  readonly servers?: number | readonly ServerSeed[];
  /** Name prefix of unnamed servers. Default `free-`. */
  readonly freePrefix?: string;
  /**
   * `fast`: machines take a hundredth of their time; the API's hours stay hours. Default `real`.
   */
  readonly profile?: Profile;
  readonly timings?: Partial<RobotTimings>;
  /** Changed limits of requests per hour, by keys such as `POST /reset`. */
  readonly limits?: Readonly<Record<string, number>>;
  /**
   * The SSH port of every machine, each with its own address. 0: a free port. Without a listener
   * where `listen` names an in-memory network; see `answering`.
   */
  readonly sshPort?: number;
  /** Simulates the installed systems. Default: the emulator does. */
  readonly hosts?: RobotEmulatorHosts;
}

/** For example simulated hosts, which have processes and agents. */
export interface RobotEmulatorHosts extends DiskHosts {
  /** Assigns the machine's address for its life. All machines have one port. */
  assign(device: {
    readonly id: string;
    readonly hostname: string;
    readonly authorizedKeys: readonly string[];
  }): Promise<{ readonly address: string; readonly sshPort: number }>;
}

/** A server and its machine as tests see them. */
export interface ServerSnapshot extends MachineState {
  readonly number: number;
  readonly name: string;
  readonly address: string;
  /** Whether the next boot is the rescue system. */
  readonly isArmed: boolean;
  readonly wwns: readonly string[];
}

/** Additions of this emulator to the common interface. */
interface Inside {
  servers(): readonly ServerSnapshot[];
  /** Presses a button at the machine, without a request. @throws {Error} unknown. */
  press(server: number, type: ResetType): void;
  /** Crashes the kernel: it accepts connections and does nothing else. @throws {Error} unknown. */
  crash(server: number): void;
  /**
   * Renames the server as another user of the account, without a request. @throws {Error} unknown.
   */
  rename(server: number, name: string): void;
  /**
   * Runs a shell script on a system that `hosts` simulates, if the command is `sh -s`. It has its
   * own files with the installed content. Undefined: another command.
   */
  play(device: string, argv: readonly string[]): Play | undefined;
  /** The system at an address; null: nobody answers. */
  answering(address: string): RunningSystem | null;
}

export interface RobotEmulator extends Emulator<RobotFaultRule, RobotFault>, Inside {
  readonly credentials: Credentials;
  /** SSH port of every machine. */
  readonly sshPort: number;
}

/**
 * Starts an emulator of the Robot web service, with a machine behind each server.
 * @throws {ZodError} a rule is invalid. @throws {ListenError} an address is not available.
 * @throws {Error} this system has no addresses 127.0.0.0/8 for the machines.
 */
export async function startRobotEmulator(options: RobotEmulatorOptions): Promise<RobotEmulator> {
  const base = baseOf(options, FAULTS);
  const { clock, faults, log } = base;
  const { hosts, profile, limits } = options;
  const activity = createActivity();
  const { servers, sshPort } = await serversOf(options, base.ids);
  const timings = timingsOf(REAL_TIMINGS, profile, options.timings);
  const pace = paceOf(profile);
  const machines = new Map(
    servers.map((server) => {
      const place = { address: server.ip, port: sshPort };
      const isWithoutSsh = options.listen.network !== undefined;
      const deps = { clock, timings, pace, faults, activity, log, hosts, place, isWithoutSsh };
      return [server.number, createMachine(server, deps)] as const;
    }),
  );
  const closeMachines = () => Promise.all([...machines.values()].map((each) => each.close()));
  const core: RobotCore = { servers, machines, keys: new Map(), clock };
  const credentials = { user: '#ws+emulated', password: randomUUID() };
  const inside = insideOf(core);
  const parts = {
    form: FAULTS,
    api: apiOf({ core, routes: ROUTES, credentials, limits }),
    known: () => ({ server: servers.map(({ number }) => number) }),
    admin: (app: FastifyInstance) => addAdmin(app, inside),
    async settled() {
      await activity.settled();
      for (const machine of machines.values()) await machine.settled();
      await activity.settled();
    },
    close: async () => void (await closeMachines()),
  };
  const emulator = await startEmulator(base, options, parts).catch(async (error: unknown) => {
    await closeMachines();
    throw error;
  });
  return { ...emulator, ...inside, credentials, sshPort };
}

/** Every machine has its own address, and all have one port. */
async function serversOf(
  options: RobotEmulatorOptions,
  ids: Parameters<typeof createServer>[2]['ids'],
): Promise<{ readonly servers: readonly RobotServer[]; readonly sshPort: number }> {
  const { servers: wanted = 1, freePrefix = 'free-', sshPort: port = 0, hosts } = options;
  const { network } = options.listen;
  const seeds: readonly ServerSeed[] =
    typeof wanted === 'number' ? Array.from({ length: wanted }, () => ({})) : wanted;
  const taken = new Set<string>();
  const servers: RobotServer[] = [];
  let sshPort = network ? 22 : port;
  if (!hosts && sshPort === 0) sshPort = await takeFreePort(new Set());
  for (const [n, seed] of seeds.entries()) {
    const name = seed.name ?? `${freePrefix}${FIRST_NUMBER + n}`;
    const authorizedKeys = seed.keys ?? [];
    const device = { id: String(FIRST_NUMBER + n), hostname: name, authorizedKeys };
    const assigned = await hosts?.assign(device);
    sshPort = assigned?.sshPort ?? sshPort;
    const inMemory = network && `192.0.2.${n + 1}`;
    const ip = assigned?.address ?? inMemory ?? (await takeFreeAddress(taken, sshPort));
    servers.push(createServer(n, { ...seed, name }, { ip, ids }));
  }
  return { servers, sshPort };
}

function insideOf({ servers, machines, clock }: RobotCore): Inside {
  const machineOf = (number: number): RobotMachine => {
    const machine = machines.get(number);
    if (!machine) throw new Error(`there is no server ${number}`);
    return machine;
  };
  return {
    servers: () =>
      servers.map((server) => ({
        ...{ number: server.number, name: server.name, address: server.ip },
        isArmed: armed(server, clock.now()) !== null,
        wwns: server.drives.map(({ wwn }) => wwn),
        ...machineOf(server.number).state(),
      })),
    press: (number, type) => machineOf(number).reset(type),
    crash: (number) => machineOf(number).crash(),
    rename(number, name) {
      const server = servers.find((one) => one.number === number);
      if (!server) throw new Error(`there is no server ${number}`);
      server.name = server.shownName = name;
    },
    play: (device, argv) =>
      argv.join(' ') === 'sh -s' ? machines.get(Number(device))?.playScript() : undefined,
    answering(address) {
      const server = servers.find(({ ip }) => ip === address);
      return server ? machineOf(server.number).answering() : null;
    },
  };
}

const pressBody = z.strictObject({ type: z.enum(RESET_TYPES) });
const renameBody = z.strictObject({ name: z.string() });

function addAdmin(app: FastifyInstance, inside: Inside): void {
  app.get('/state', async () => ({ servers: inside.servers() }));
  const change = (name: string, act: (number: number, body: unknown) => void) =>
    app.post<{ Params: { n: string } }>(`/servers/:n/${name}`, async ({ params: { n }, body }) => {
      const found = () => inside.servers().find(({ number }) => String(number) === n);
      if (!found()) throw new AdminError(404, `no server ${n}`);
      act(Number(n), body);
      return found();
    });
  change('press', (number, body) => inside.press(number, pressBody.parse(body).type));
  change('crash', (number) => inside.crash(number));
  change('rename', (number, body) => inside.rename(number, renameBody.parse(body).name));
}
