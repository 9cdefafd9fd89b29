import { z } from 'zod';
import { DRAIN_ENDS, MEMBER_STATES } from '../../domain/balancing/members.ts';
import type { FleetView } from '../port.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named } from './schemas.ts';
import { Problem } from './problem.ts';
import { requireWhole } from './whole.ts';

const MemberSchema = named(
  'PoolMember',
  z.object({
    slot: z.string().nullable(),
    machineId: z.string(),
    state: z.enum(MEMBER_STATES),
    sinceMs: Milliseconds,
    deadlineMs: Milliseconds.nullable(),
    how: z.enum(DRAIN_ENDS).nullable(),
    waived: z.boolean(),
    refused: z.boolean(),
    health: z.enum(['up', 'down', 'unknown']).nullable(),
    sessions: z.int().nullable(),
    note: z.string().nullable(),
  }),
);

const AskedSchema = z.object({ atMs: Milliseconds, by: z.string(), reason: z.string() }).nullable();

const PoolSchema = named(
  'Pool',
  z.object({
    pool: z.string(),
    balancer: z.string(),
    driver: z.string().nullable().describe('Null: the balancer is not configured any more.'),
    isConfigured: z.boolean().describe('The daemon that answers has the pool at this balancer.'),
    state: z.string().nullable(),
    reason: z.string().nullable(),
    settledAtMs: Milliseconds.nullable(),
    observedAtMs: Milliseconds.nullable(),
    retryAtMs: Milliseconds.nullable(),
    frozen: z.object({ atMs: Milliseconds, reason: z.string() }).nullable(),
    paused: AskedSchema,
    tornDown: AskedSchema,
    isTended: z.boolean().describe('A live daemon tends the pool at this balancer.'),
    minActive: z.int(),
    members: z.array(MemberSchema).readonly(),
    addresses: z
      .array(z.object({ address: z.string(), ports: z.array(z.int()).readonly() }))
      .readonly()
      .nullable(),
  }),
);
export const PoolsSchema = z.object({ atMs: Milliseconds, pools: z.array(PoolSchema).readonly() });

/** `pools`, `pools/{pool}`: how pools stand at their balancers, with their members. */
export function addPools(api: Api, fleet: FleetView): void {
  const about = { config: { right: 'see' as const } };
  api.get(
    '/pools',
    {
      ...about,
      schema: { tags: ['pools'], summary: 'Every pool', response: { 200: PoolsSchema } },
    },
    async () => {
      requireWhole(fleet);
      return { atMs: fleet.frame().atMs, pools: fleet.pools() };
    },
  );
  api.get(
    '/pools/:pool',
    {
      ...about,
      schema: {
        tags: ['pools'],
        summary: 'A pool at each of its balancers',
        params: z.object({ pool: z.string() }),
        response: { 200: PoolsSchema },
      },
    },
    async ({ params: { pool } }) => {
      requireWhole(fleet);
      const pools = fleet.pools().filter((each) => each.pool === pool);
      if (pools.length === 0) throw new Problem('not-found', `No pool is named ${pool}`);
      return { atMs: fleet.frame().atMs, pools };
    },
  );
}
