import type { Activity } from '../kit/activity.ts';
import type { Journal } from '../kit/journal.ts';
import type { ManualClock } from '../kit/clock.ts';
import type { Controls } from './admin.ts';
import { BLOCKED_MS } from './api/logins.ts';
import type { Core } from './core.ts';
import { type Fault, OF_THE_PORT, parseFaultRule } from './fault-rules.ts';
import type { Door } from './http/door.ts';
import type { Machine } from './machine/machine.ts';
import type { ServerSnapshot } from './options.ts';
import { textToBytes } from './shell/process.ts';
import { armed, type Server } from './world.ts';

export interface ControlsDeps {
  readonly core: Core;
  readonly journal: Journal;
  readonly door: Door;
  readonly activity: Activity;
  /** Paths with placeholders, for faults to name. */
  readonly routes: readonly string[];
  readonly manual: ManualClock | null;
}

/** The emulator seen from the inside: what a library user may read and do. */
export function createControls(deps: ControlsDeps): Controls & { block(): void; unblock(): void } {
  const { core, journal, door, activity, manual } = deps;
  const { servers, machines, faults, clock } = core;
  const known = { routes: deps.routes, servers: servers.map(({ number }) => number) };
  let isBlocked = false;
  let blockEnd: unknown;

  const isInForce = (type: string) => faults.list().some(({ effect }) => effect.type === type);
  /** The port as the rules in force want it. */
  async function fitDoor(): Promise<void> {
    door.setSilent(isInForce('handshakeHang'));
    await door.setOpen(!isBlocked && !isInForce('addressBlocked'));
  }
  const later = (work: Promise<void>) => {
    work.catch((err: unknown) => core.log.error({ err }, 'the port could not be changed'));
  };
  const serverOf = (number: number): Server => {
    const server = servers.find((one) => one.number === number);
    if (!server) throw new Error(`there is no server ${number}`);
    return server;
  };
  const machineOf = (number: number): Machine => machines.get(serverOf(number).number)!;
  const settled = async () => {
    await activity.settled();
    for (const machine of machines.values()) await machine.settled();
    await activity.settled();
  };

  return {
    servers: () =>
      servers.map((server) => snapshotOf(server, machineOf(server.number), clock.now())),
    requests: (afterSeq = 0) => journal.since(afterSeq),
    used: () => core.limits.used(clock.now()),
    async addFault(input): Promise<Fault> {
      const rule = faults.add(parseFaultRule(input, known));
      if (OF_THE_PORT.includes(rule.effect.type)) await fitDoor();
      return { ...rule };
    },
    faults: faults.list,
    async removeFault(id) {
      const isThere = faults.remove(id);
      await fitDoor();
      return isThere;
    },
    async clearFaults() {
      faults.clear();
      await fitDoor();
    },
    press: (number, type) => machineOf(number).reset(type),
    crash: (number) => machineOf(number).crash(),
    console: (number, line, stdin = '') => machineOf(number).console(line, stdin),
    rename(number, name) {
      const server = serverOf(number);
      server.name = server.shownName = name;
    },
    cancel(number, isCancelled) {
      serverOf(number).cancelled = isCancelled;
    },
    readDisk(number, path) {
      const disk = machineOf(number).disk();
      if (!disk) throw new Error(`nothing is on the drives of server ${number}`);
      return textToBytes(disk.read(path)).toString('utf8');
    },
    play(device, argv) {
      const isScript = argv.length === 2 && argv[0] === 'sh' && argv[1] === '-s';
      return isScript ? machines.get(Number(device))?.play(argv) : undefined;
    },
    setPassword: core.setPassword,
    now: clock.now,
    async advance(ms) {
      if (!manual) throw new Error('the clock is not manual: it cannot be advanced');
      const targetMs = manual.now() + ms;
      await settled();
      while (manual.stepTowards(targetMs)) await settled();
      await settled();
    },
    settled,
    block() {
      isBlocked = true;
      clock.clearTimeout(blockEnd);
      blockEnd = clock.setTimeout(() => {
        isBlocked = false;
        later(fitDoor());
      }, BLOCKED_MS);
      later(fitDoor());
    },
    unblock: () => clock.clearTimeout(blockEnd),
  };
}

const snapshotOf = (server: Server, machine: Machine, nowMs: number): ServerSnapshot => ({
  number: server.number,
  name: server.name,
  product: server.product,
  dc: server.dc,
  address: server.ip,
  armed: armed(server, nowMs)?.kind ?? null,
  wwns: server.drives.map(({ wwn }) => wwn),
  ...machine.state(),
});
