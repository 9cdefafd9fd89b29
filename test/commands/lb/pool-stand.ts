import { z } from 'zod';
import { balancerJob, poolJob } from '../../../src/actors/balancing/deps.ts';
import type { BalancerDriver, LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { Lease, MemberChange } from '../../../src/adapters/bmdb/port.ts';
import { parseConfig } from '../../../src/config.ts';
import type { Means } from '../../../src/commands/machine/command.ts';
import { openDatabaseDoor } from '../../../src/commands/remote/database-door.ts';
import type { Observed } from '../../../src/domain/balancing/objects.ts';
import { Unreachable } from '../../../src/domain/errors.ts';
import type { PoolVerb } from '../../../src/domain/verbs.ts';
import { driverTable } from '../../../src/settings/driver-table.ts';
import { idOf, machineStand, type MachineStand } from '../machine-stand.ts';
import { runThrough, type Ran, type RunMeans } from '../remote/both-doors.ts';

/** Commands about pools: two balancers that show what a test puts there, and a BMDB in memory. */
export interface PoolStand extends MachineStand {
  readonly drivers: ReadonlyMap<string, BalancerDriver>;
  /** What a balancer shows, whoever asks; null: it cannot be reached. */
  show(balancer: string, observed: readonly Observed[] | null): void;
  /** Everything that was asked of balancers, such as `edge observe`. */
  readonly asked: string[];
  /** Runs a command line by Ann; while it waits, time passes. */
  run(args: readonly string[], change?: Partial<RunMeans>): Promise<Ran>;
  /** Leases of both balancers' jobs, by a daemon that settles requests. */
  tend(): Promise<Tending>;
  /** Files a request about `api` at `edge` by Eva, since the balancer moves, and has it settled. */
  ask(verb: PoolVerb): Promise<void>;
}
type Patch = Parameters<Session['balancing']['note']>[2];
type Session = Awaited<ReturnType<MachineStand['daemon']>>;
export interface Tending {
  readonly session: Session;
  readonly leases: Readonly<Record<At, Lease>>;
  /** Writes down how the pool is doing at a balancer, and how a machine of it is, as `add` has it. */
  note(at: At, change: Patch): Promise<unknown>;
  write(at: At, change: Omit<MemberChange, 'machineId'>, machine?: number): Promise<unknown>;
}
type At = 'edge' | 'cloud';

export const API_EDGE = { pool: 'api', balancer: 'edge' };
export const API_CLOUD = { pool: 'api', balancer: 'cloud' };
const API_AT = { edge: API_EDGE, cloud: API_CLOUD };

/** What a command says, with one space wherever it has some. */
export const words = ({ stdout }: { readonly stdout: string }) => stdout.replaceAll(/\s+/g, ' ');

const CAPABILITIES: LoadBalancer['capabilities'] = {
  update: true,
  drain: 'native',
  sessions: true,
  health: true,
  async: false,
  adopt: false,
  atOnce: 1,
};

export function poolStand(): PoolStand {
  const stand = machineStand();
  const shown = new Map<string, readonly Observed[] | null>();
  const asked: string[] = [];
  const open = (name: string): LoadBalancer => {
    const tell = (what: string) => async (): Promise<never> => {
      asked.push(`${name} ${what}`);
      throw new Error(`${what} was asked of a balancer that is only looked at`);
    };
    return {
      capabilities: CAPABILITIES,
      async observe() {
        asked.push(`${name} observe`);
        const found = shown.get(name) ?? null;
        if (found === null) throw new Unreachable(`${name} does not answer`);
        return found;
      },
      create: tell('create'),
      update: tell('update'),
      destroy: tell('destroy'),
      refresh: tell('refresh'),
      setMember: tell('setMember'),
      async close() {
        asked.push(`${name} close`);
      },
    };
  };
  const shelf: BalancerDriver = {
    name: 'shelf',
    settings: () => z.strictObject({}),
    open: (_, { name }) => open(name),
  };
  const drivers = driverTable([shelf]);
  const { balancers, pools, fleet } = parseConfig(CONFIG, {}, { balancers: drivers });
  const config = { ...stand.means.config, balancers, pools, fleet };
  const { bmdb, clock, means } = stand;
  const world = { bmdb, config, clock, random: means.random };
  const sleep = async (ms: number) => {
    clock.increment(ms);
    await new Promise(setImmediate);
  };
  let runs = 0;
  return {
    ...stand,
    add(at, change = {}) {
      const id = stand.add(at, change);
      const { row } = stand.bmdb.tables.machines.get(id)!;
      Object.assign(row, { provided: { ...row.provided!, address: `10.0.0.${at}:22` } });
      return id;
    },
    means: { ...stand.means, config } satisfies Means,
    drivers,
    asked,
    async run(args, change = {}) {
      const door = openDatabaseDoor({ ...world, by: 'ann', version: '0.0.0', where: 'here' });
      const monotonic = () => clock.monotonic();
      const keysUsed = (runs += 1) * 100;
      const around = { door, monotonic, sleep, keysUsed, ...change };
      try {
        return await runThrough(around, args);
      } finally {
        await door.close();
      }
    },
    show: (balancer, observed) => void shown.set(balancer, observed),
    async ask(verb) {
      const what = { verb, ...API_EDGE };
      await stand.bmdb.requests.file({ key: verb, by: 'eva', reason: 'it moves', what });
      const isOpen = async () => (await stand.bmdb.scan(stand.means.signal)).requests.length > 0;
      while (await isOpen()) await new Promise(setImmediate);
    },
    async tend() {
      const session = await stand.daemon();
      const lease = async (balancer: string) => {
        await session.lease(poolJob({ pool: 'api', balancer }));
        return (await session.lease(balancerJob(balancer)))!;
      };
      const leases = { edge: await lease('edge'), cloud: await lease('cloud') };
      const { balancing } = session;
      return {
        ...{ session, leases },
        note: (at, change) => balancing.note(leases[at], API_AT[at], change),
        write: (at, change, machine = 1) =>
          balancing.write(leases[at], API_AT[at], [{ machineId: idOf(machine), ...change }]),
      };
    },
  };
}

const CONFIG = {
  database: { embedded: { dataDir: 'data' } },
  providers: {
    metal: { driver: 'static', instanceSetId: 'aaaaa-bbbbb-ccccccccccccccc', inventory: 'file:m' },
  },
  ssh: { keyPath: 'key' },
  agent: { endpoint: '192.0.2.1:8080' },
  agentServer: { devCertificates: { dir: 'certificates' } },
  fleet: 'eu',
  balancers: { edge: { driver: 'shelf' }, cloud: { driver: 'shelf' } },
  pools: {
    api: {
      balancers: ['edge', 'cloud'],
      addresses: ['192.0.2.10', '2001:db8::10'],
      ports: { http: { external: 80, internal: 42037 }, https: { external: 443, internal: 37042 } },
      select: {},
    },
  },
};

let count = 0;
/** An object at a balancer that is as it should be. */
export const object = (spec: Observed['spec'], change: Partial<Observed> = {}): Observed => ({
  ref: { kind: spec.kind, id: `${spec.kind}-${(count += 1)}` },
  spec,
  parentId: null,
  phase: 'ready',
  tagged: true,
  ...change,
});
