import { onTestFinished } from 'vitest';
import type { ObjectKind } from '../../../src/domain/balancing/objects.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { createMemoryBalancer } from '../../doubles/memory-balancer.ts';
import type { MemoryBalancer, MemoryBalancerOptions } from '../../doubles/memory-balancer.ts';
import { advance, createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { IP, M1, M2, pool } from '../../domain/balancing/pool.ts';
import { createBalancingStand, serve } from '../../support/balancing-stand.ts';
import type { BalancingStandOptions } from '../../support/balancing-stand.ts';
import { MINUTE, type VectorWorld } from './vector-world.ts';

/** The balancer in memory, as a world of the vectors. */
export function memoryWorld(
  options: Partial<MemoryBalancerOptions> = {},
): VectorWorld & { readonly memory: MemoryBalancer } {
  const clock = createSimulatedClock();
  const ill = new Set<string>();
  const healthOf = (address: string) => (ill.has(address) ? 'down' : 'up');
  const memory = createMemoryBalancer({ clock, healthOf, ...options });
  const { capabilities } = memory.balancer;
  const { uid } = pool();
  const parentOf = (kind: ObjectKind, name: string) => {
    const port = name.split('.')[1]!;
    if (kind === 'server' || kind === 'frontend') return memory.find('backend', `${port}.`).id;
    return kind === 'bind' ? memory.find('frontend', `${port}.`).id : null;
  };
  let told = 0;
  return {
    memory,
    clock,
    balancer: memory.balancer,
    pass: (ms) => advance(clock, ms),
    names: () =>
      [...memory.held.values()]
        .filter(({ owner }) => owner === uid)
        .map(({ spec }) => `${spec.kind} ${spec.name}`)
        .toSorted(),
    takeWrites: () => {
      const writes = memory.writes();
      const since = writes.slice(told).map(({ operation, name }) => `${operation} ${name}`);
      told = writes.length;
      return since;
    },
    calls: () => memory.calls.length,
    end: async () => undefined,
    everything: memory.names,
    another: () => ({ ...memory.balancer, close: async () => undefined }),
    addServer: (name) =>
      void memory.put({
        spec: { kind: 'server', name, address: '10.0.0.3', number: 1 },
        parentId: parentOf('server', name),
        owner: uid,
        differs: 'its check is off',
      }),
    twin: (kind, name) => {
      const { spec, parentId, owner } = memory.find(kind, name);
      memory.put({ spec, parentId, owner });
    },
    untag: (kind, name) => void (memory.find(kind, name).owner = null),
    foreign: (kind, name) => {
      if (kind === 'backend') {
        memory.put({ spec: { kind, name, check: { by: 'tcp' } }, owner: 'another' });
      }
    },
    fail: (kind, name, stubborn) => {
      memory.find(kind, name).isFailed = true;
      if (stubborn) memory.makeStubborn(name);
    },
    lose: (kind, name) => void memory.held.delete(memory.find(kind, name).id),
    holdBack: (kind, name) => void (memory.find(kind, name).readyAtMs = Infinity),
    inject: (operation, effect, times = 1, skip = 0) =>
      memory.inject({ operation, effect, times, skip }),
    throttle: (ms) => void memory.throttle(clock.now() + ms),
    cutOff: (isCut) => void memory.cutOff(isCut),
    isOpen: (machine) => memory.servers(machine).some(({ mode }) => mode === 'active'),
    ...(capabilities.sessions && {
      sessions: async (machine, count) => {
        for (const server of memory.servers(machine)) server.sessions = count;
      },
    }),
    ...(capabilities.health && {
      makeWell: async (machine, isWell) => {
        if (isWell) ill.delete(IP[machine]!);
        else ill.add(IP[machine]!);
      },
    }),
    ...(capabilities.adopt && {
      leaveHalf: () => memory.inject({ operation: 'create', effect: 'untagged' }),
    }),
    openOther: async () => {
      const other = createMemoryBalancer({ clock });
      const about = 'v6.';
      other.inject({ operation: 'create', effect: 'failBefore', about, times: Infinity });
      return other.balancer;
    },
  };
}

interface MemoryPoolOptions extends Partial<BalancingStandOptions> {
  readonly world?: ReturnType<typeof memoryWorld>;
  readonly machines?: readonly MachineId[];
  /** How long a daemon has existed. */
  readonly ageMs?: number;
}

/** A pool at an in-memory balancer, and a daemon that had time to settle it. */
export async function memoryPool({
  world = memoryWorld(),
  machines = [M1, M2],
  ageMs = 3 * MINUTE,
  ...options
}: MemoryPoolOptions = {}) {
  const { clock, balancer, memory } = world;
  const stand = createBalancingStand({ clock, balancers: { edge: balancer }, ...options });
  stand.wish(...machines.map((machine) => serve(machine)));
  /** Starts a daemon that ends with the test. */
  const start = async (...how: Parameters<typeof stand.life>) => {
    const life = await stand.life(...how);
    onTestFinished(() => life.stop());
    return life;
  };
  const life = await start();
  await world.pass(ageMs);
  return { world, memory, clock, stand, life, start };
}
