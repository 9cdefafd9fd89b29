import type { BalancerOperation, HeldObject } from '../../doubles/memory-balancer.ts';
import type { Simulation } from '../simulation.ts';
import { ask, machineAt } from '../targets.ts';
import {
  between,
  figures,
  lasting,
  MINUTE,
  minutes,
  pick,
  target,
  type Figures,
  type StrikeKindSpec,
} from './kind.ts';

const OPERATIONS: readonly BalancerOperation[] = [
  'observe',
  'create',
  'adopt',
  'update',
  'destroy',
  'refresh',
  'setMember',
];

/** The machine's server object at the balancer. */
function serverAt(simulation: Simulation, { which }: Figures): HeldObject | null {
  const row = machineAt(simulation, which!);
  return (row && simulation.world.balancer?.servers(row.machineId)[0]) ?? null;
}

/** Strikes on the balancer, in runs that have one. */
export const BALANCERS = {
  'balancer-call-fails': {
    perHour: 3,
    draw: (random) => ({ ...figures('operation', 'effect')(random), times: between(random, 1, 4) }),
    strike({ world }, { operation: at, effect: how, times }) {
      const operation = pick(OPERATIONS, at!);
      const effect = pick(['failBefore', 'failAfter', 'untagged'] as const, how!);
      world.balancer?.inject({ operation, effect, times: times! });
      return world.balancer && `${effect} of the next ${times} calls ${operation}`;
    },
  },
  'balancer-away': {
    perHour: 0.4,
    draw: lasting(MINUTE, 30 * MINUTE),
    strike({ world: { balancer }, later }, { forMs }) {
      balancer?.cutOff(true);
      later(() => balancer?.cutOff(false), forMs!);
      return balancer && `the balancer is away for ${minutes(forMs!)}`;
    },
  },
  'connections-stay': {
    perHour: 1,
    draw: lasting(MINUTE, 60 * MINUTE),
    strike(simulation, numbers) {
      const server = serverAt(simulation, numbers);
      if (!server) return null;
      server.sessions = 3;
      simulation.later(() => (server.sessions = 0), numbers['forMs']!);
      return `${server.spec.name} has connections for ${minutes(numbers['forMs']!)}`;
    },
  },
  'server-changed-by-hand': {
    perHour: 0.4,
    draw: figures('which', 'mode'),
    strike(simulation, { mode, ...numbers }) {
      const server = serverAt(simulation, numbers);
      if (!server) return null;
      server.mode = pick(['active', 'drain', 'off'] as const, mode!);
      return `somebody sets ${server.spec.name} to ${server.mode}`;
    },
  },
  'server-deleted-by-hand': {
    perHour: 0.3,
    draw: target,
    strike(simulation, numbers) {
      const server = serverAt(simulation, numbers);
      if (server) simulation.world.balancer!.held.delete(server.id);
      return server && `somebody deletes ${server.spec.name}`;
    },
  },
  'pool-paused': {
    perHour: 0.2,
    draw: lasting(MINUTE, 60 * MINUTE),
    strike(simulation, { forMs }) {
      if (!simulation.world.balancer) return null;
      const api = { pool: 'api', balancer: null };
      simulation.later(() => void ask(simulation, { verb: 'resume-pool', ...api }), forMs!);
      return `${ask(simulation, { verb: 'pause-pool', ...api })} for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;
