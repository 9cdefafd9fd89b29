import { z } from 'zod';
import { balancerJob, poolJob } from '../../../src/actors/balancing/deps.ts';
import type { BalancerDriver, LoadBalancer } from '../../../src/adapters/balancer/port.ts';
import type { Lease, MemberChange } from '../../../src/adapters/bmdb/port.ts';
import type { PoolVerb } from '../../../src/domain/verbs.ts';
import { idOf, type MachineStand } from '../machine-stand.ts';
import { commandStand } from '../shown.ts';

/** Commands about pools at two balancers, of which a daemon that only shows asks neither anything. */
export type PoolStand = Awaited<ReturnType<typeof poolStand>>;
export type Tending = Awaited<ReturnType<PoolStand['tend']>>;
type StandSession = Awaited<ReturnType<MachineStand['daemon']>>;
type Patch = Parameters<StandSession['balancing']['note']>[2];
type At = 'edge' | 'cloud';

export const API_EDGE = { pool: 'api', balancer: 'edge' };
export const API_CLOUD = { pool: 'api', balancer: 'cloud' };
const API_AT = { edge: API_EDGE, cloud: API_CLOUD };

/** What a command says, with one space wherever it has some. */
export const words = ({ stdout }: { readonly stdout: string }) => stdout.replaceAll(/\s+/g, ' ');

const never = () => Promise.reject(new Error('a balancer is asked by a daemon that only shows'));
const BALANCER: LoadBalancer = {
  capabilities: {
    ...{ update: true, drain: 'native', sessions: true, health: true, async: false },
    ...{ adopt: false, atOnce: 1 },
  },
  ...{ observe: never, create: never, update: never, destroy: never, refresh: never },
  setMember: never,
  close: async () => undefined,
};
const SHELF: BalancerDriver = {
  name: 'shelf',
  settings: () => z.strictObject({}),
  open: () => BALANCER,
};
const CONFIG = {
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

export async function poolStand() {
  const stand = await commandStand({ config: CONFIG, balancerDrivers: [SHELF] });
  return {
    ...stand,
    /** Files a request about `api` at `edge` by Eva, since the balancer moves, and has it settled. */
    async ask(verb: PoolVerb) {
      const what = { verb, ...API_EDGE };
      await stand.bmdb.requests.submit({ key: verb, by: 'eva', reason: 'it moves', what });
      const isOpen = async () => (await stand.bmdb.scan(stand.signal)).requests.length > 0;
      while (await isOpen()) await new Promise(setImmediate);
    },
    /** Leases of both balancers' jobs, by a daemon that settles requests. */
    async tend() {
      const session = await stand.daemon();
      const lease = async (balancer: string): Promise<Lease> => {
        await session.lease(poolJob({ pool: 'api', balancer }));
        return (await session.lease(balancerJob(balancer)))!;
      };
      const leases = { edge: await lease('edge'), cloud: await lease('cloud') };
      const { balancing } = session;
      return {
        ...{ session, leases },
        /** Writes down how the pool is doing at a balancer, and how a machine of it is, as `add` has it. */
        note: (at: At, change: Patch) => balancing.note(leases[at], API_AT[at], change),
        write: (at: At, change: Omit<MemberChange, 'machineId'>, machine = 1) =>
          balancing.write(leases[at], API_AT[at], [{ machineId: idOf(machine), ...change }]),
      };
    },
  };
}
