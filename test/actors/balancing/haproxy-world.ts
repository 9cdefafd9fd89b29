import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { Desired, ObjectKind, Observed, Ref } from '../../../src/domain/balancing/objects.ts';
import { RemoteFailure } from '../../../src/domain/errors.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { ask, startHaproxy } from '../../../emulators/haproxy/haproxy-process.ts';
import { isActive, readServers } from '../../../emulators/haproxy/status.ts';
import { startTraffic } from '../../../emulators/haproxy/traffic/traffic.ts';
import { balancerOf } from '../../adapters/balancer/haproxy/stand.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { IP, M1, M2, M3, pool } from '../../domain/balancing/pool.ts';
import { PATIENCE } from '../../support/patience.ts';
import { freePorts, startServing } from '../../support/serving-machines.ts';
import { passWhen, type VectorWorld } from './vector-world.ts';

/** After this many event loop turns without a pending call, no further call comes by itself. */
const QUIET_TURNS = 4;
const FILE = `${pool().suffix}.cfg`;
const SPOILT = '\nfrontend spoilt\n  nonsense\n';
const OPERATIONS = new Set<string>(['observe', 'create', 'update', 'destroy', 'setMember']);

interface HaproxyFault {
  readonly operation: string;
  readonly effect: 'failBefore' | 'failAfter' | 'halfway';
  times: number;
  skip?: number;
}

/**
 * HAProxy's driver and the real program, with serving machines and clients, as a world of the
 * vectors. Virtual time does not move HAProxy's own checks: the pool sees them only with
 * `needsHealth`.
 */
export async function haproxyWorld(needsHealth: boolean): Promise<VectorWorld> {
  const clock = createSimulatedClock();
  const haproxy = await startHaproxy();
  const driver = balancerOf(haproxy);
  const [externals, internals] = [await freePorts(2), await freePorts(2)];
  const machines = await startServing(3, internals);
  const byId = new Map([M1, M2, M3].map((id, at) => [id, machines[at]!]));
  const base = await readFile(haproxy.baseFile, 'utf8');
  const ports = pool().ports.map((port, at) => ({
    ...port,
    external: externals[at]!,
    internal: internals[at]!,
  }));
  const to = { host: '127.0.0.1', port: externals[0]! };
  const file = join(haproxy.poolsDir, FILE);
  const away = `${haproxy.masterSocket}.away`;
  const master = () => ({ masterSocket: isCutOff ? away : haproxy.masterSocket });

  const writes: string[] = [];
  const faults: HaproxyFault[] = [];
  const todo: (() => Promise<unknown>)[] = [];
  const held: Socket[] = [];
  let isCutOff = false;
  let calls = 0;
  let underWay = 0;
  let names: readonly string[] = [];
  let open: ReadonlySet<string> = new Set();

  const say = async (command: string) => ask(master().masterSocket, `@1 ${command}`);
  const readNames = async () => namesOf(await say('show stat'));
  const reload = () => ask(haproxy.masterSocket, 'reload');

  async function halfway(act: () => Promise<unknown>): Promise<void> {
    const kept = new Map<string, string | null>();
    for (const path of [file, `${file}.loaded`]) kept.set(path, await textOf(path));
    const before = await readNames();
    await act();
    const written = (await textOf(file))!;
    for (const [path, text] of kept) await (text === null ? rm(path) : writeFile(path, text));
    await reload();
    await vi.waitFor(async () => expect(await readNames()).toEqual(before), PATIENCE);
    await writeFile(file, written);
  }

  async function play(operation: string, name: string, act: () => Promise<unknown>) {
    calls += 1;
    const known = faults.find((each) => each.operation === operation);
    const isPassed = known !== undefined && (known.skip ?? 0) > 0;
    if (isPassed) known.skip! -= 1;
    const fault = isPassed ? undefined : known;
    if (fault && (fault.times -= 1) <= 0) faults.splice(faults.indexOf(fault), 1);
    const failure = new RemoteFailure(`scripted failure of ${operation} ${name}`);
    if (fault?.effect === 'failBefore') throw failure;
    if (operation !== 'observe') writes.push(`${operation} ${name}`);
    if (fault?.effect === 'halfway') await halfway(act);
    else if (!fault) return act();
    else await act();
    throw failure;
  }

  const tracked = (own: LoadBalancer): LoadBalancer =>
    new Proxy(own, {
      get(target, key) {
        if (key === 'capabilities') return { ...target.capabilities, health: needsHealth };
        const method: unknown = Reflect.get(target, key);
        if (!OPERATIONS.has(String(key)) || typeof method !== 'function') return method;
        return async (about: Ref | Desired, ...rest: unknown[]) => {
          underWay += 1;
          try {
            const act = async (): Promise<unknown> => method.call(target, about, ...rest);
            const answer = await play(String(key), nameIn(about, rest[0]), act);
            return key === 'observe' && !needsHealth ? withoutHealth(answer as Observed[]) : answer;
          } finally {
            underWay -= 1;
          }
        };
      },
    });

  const balancer = tracked(driver);

  async function quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns = underWay > 0 ? 0 : turns + 1) {
      await new Promise((resolve) =>
        underWay > 0 ? setTimeout(resolve, 1) : setImmediate(resolve),
      );
    }
  }

  /** Opens connections until one leads to the machine, and holds only that one. */
  async function hold(machine: MachineId): Promise<void> {
    const { address } = byId.get(machine)!;
    const others: Socket[] = [];
    for (let found = false; !found;) {
      const socket = connect(to.port, to.host).on('error', () => undefined);
      const answer = new Promise<string>((resolve, reject) => {
        socket.once('data', (data) => resolve(String(data))).once('error', reject);
      });
      socket.write('GET / HTTP/1.1\r\nHost: pool\r\n\r\n');
      found = (await answer).includes(address);
      (found ? held : others).push(socket);
    }
    for (const socket of others) socket.destroy();
  }

  async function letGo(): Promise<void> {
    for (const socket of held.splice(0)) socket.destroy();
    const busy = async () => (await readServers(master())).filter(({ sessions }) => sessions > 0);
    await vi.waitFor(async () => expect(await busy()).toEqual([]), PATIENCE);
  }

  return {
    clock,
    balancer,
    pool: { addresses: [to.host], ports },
    addresses: new Map([...byId].map(([id, { address }]) => [IP[id]!, address])),
    async pass(ms) {
      for (const each of todo.splice(0)) await each();
      await passWhen(clock, ms, quiet);
      names = await readNames();
      open = new Set((await readServers(master())).filter(isActive).map(({ server }) => server));
    },
    names: () => names,
    everything: () => names,
    another: () => tracked(balancerOf(haproxy)),
    takeWrites: () => writes.splice(0),
    calls: () => calls,
    async end() {
      await balancer.close();
      for (const socket of held) socket.destroy();
      await haproxy.stop();
      await Promise.all(machines.map((machine) => machine.stop()));
    },
    isOpen: (machine) => [...open].some((server) => server.startsWith(machine)),
    sessions: (machine, count) => (count > 0 ? hold(machine) : letGo()),
    addServer: (name) =>
      void todo.push(() => say(`add server ${backendOf(name)}/${name} 127.0.0.1:1`)),
    lose(kind, name) {
      todo.push(async () => {
        if (kind === 'server') {
          await say(`set server ${backendOf(name)}/${name} state maint`);
          expect(await say(`del server ${backendOf(name)}/${name}`)).toContain('deleted');
        } else {
          const lines = (await readFile(file, 'utf8')).split('\n');
          const left = lines.filter((line) => !line.endsWith(` name ${name}`));
          expect(left).toHaveLength(lines.length - 1);
          await writeFile(file, left.join('\n'));
        }
      });
    },
    inject: (operation, effect, times = 1, skip = 0) =>
      void faults.push({ operation, effect, times, skip }),
    leaveHalf: () => void faults.push({ operation: 'create', effect: 'halfway', times: 1 }),
    cutOff(isCut) {
      todo.push(async () => {
        await rename(master().masterSocket, isCut ? away : haproxy.masterSocket);
        isCutOff = isCut;
      });
    },
    spoil: (isSpoiled) =>
      void todo.push(() => writeFile(haproxy.baseFile, isSpoiled ? base + SPOILT : base)),
    restart: () => haproxy.restart(),
    ...(needsHealth && {
      makeWell: async (machine: MachineId, isWell: boolean) => {
        const { start, stop } = byId.get(machine)!;
        await (isWell ? start() : stop());
        await vi.waitFor(async () => {
          const there = await driver.observe(pool(), { signal: new AbortController().signal });
          const ours = there.filter(({ spec }) => spec.name.startsWith(machine));
          const wanted = isWell ? 'up' : 'down';
          expect(ours.filter(({ server }) => server?.health !== wanted)).toEqual([]);
        }, PATIENCE);
      },
    }),
    clients(count) {
      const quietly = { holdMs: [600_000, 600_000], chance: () => 0.5 } as const;
      const traffic = startTraffic({ to, perSecond: 100, held: count, ...quietly });
      return {
        async stop() {
          const { refused, cut, answered, failures } = await traffic.stop();
          expect(answered).toBeGreaterThan(10);
          if (refused + cut > 0) console.warn(failures, haproxy.log.slice(-50), await readNames());
          return { refused, cut };
        },
      };
    },
  };
}

const backendOf = (server: string): string => server.slice(server.indexOf('.') + 1);

const textOf = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });

function nameIn(about: Ref | Desired, mode: unknown): string {
  if ('spec' in about) return about.spec.name;
  const name = String(about.id).split('/').at(-1)!;
  return typeof mode === 'string' ? `${mode} ${name}` : name;
}

const withoutHealth = (there: readonly Observed[]): readonly Observed[] =>
  there.map(({ server, ...object }) => {
    if (!server) return object;
    const { health: _, ...reading } = server;
    return { ...object, server: reading };
  });

/** By the types of rows in `show stat`. */
const KINDS: readonly ObjectKind[] = ['frontend', 'backend', 'server', 'bind'];

/** The objects that the running program itself reports. */
function namesOf(stat: string): string[] {
  const [head = '', ...lines] = stat.trim().split('\n');
  const columns = head.replace(/^# /, '').split(',');
  const [proxy, name, type] = ['pxname', 'svname', 'type'].map((each) => columns.indexOf(each));
  return lines
    .map((line) => line.split(','))
    .map((cells) => {
      const kind = KINDS[Number(cells[type!])]!;
      const isProxy = kind === 'frontend' || kind === 'backend';
      return `${kind} ${cells[isProxy ? proxy! : name!]}`;
    })
    .toSorted();
}
