import { beforeEach, expect, test } from 'vitest';
import type { TendedPool } from '../../../src/actors/balancing/board.ts';
import { createPoolsView } from '../../../src/daemon/views/pool-summaries.ts';
import type { MemberRow } from '../../../src/domain/balancing/members.ts';
import { newPool, type PoolRow } from '../../../src/domain/balancing/pool-row.ts';
import type { Pool } from '../../../src/domain/balancing/pools.ts';
import { machineId, providerName, sessionId, slot, type Slot } from '../../../src/domain/ids.ts';
import type { SlotFacts } from '../../../src/domain/machine.ts';
import { emptyRow } from '../../doubles/mem-bmdb/tables.ts';
import { memberRow } from '../../support/facts.ts';

const ID = machineId('00000000-0000-4000-8000-000000000001');
const A = slot('metal', 'a');
const API = { pool: 'api', balancer: 'edge' };
const active = memberRow({ ...API, machineId: ID, sinceMs: 1, sessions: 2 });

let facts: Map<Slot, SlotFacts>;
let rows: PoolRow[];
let tended: TendedPool[];
let view: ReturnType<typeof createPoolsView>;

beforeEach(() => {
  facts = new Map();
  rows = [{ ...newPool(API), state: 'settled', settledAtMs: 5 }];
  tended = [];
  const daemon = sessionId('00000000-0000-4000-8000-00000000000d');
  view = createPoolsView({
    pools: [{ pool: 'api', balancers: ['edge', 'cloud'], minActive: 2 } as unknown as Pool],
    balancers: { edge: { driver: 'haproxy' }, cloud: { driver: 'anexia' } },
    mirror: {
      pools: () => rows,
      leases: () => [{ name: 'pool/edge/api', sessionId: daemon, held: true }],
      facts: () => facts,
    },
    board: { tended: () => tended },
  });
});

function become(...members: readonly MemberRow[]): void {
  facts.set(A, {
    slot: A,
    provider: providerName('metal'),
    row: { ...emptyRow(ID, 0), members },
  } as unknown as SlotFacts);
}

test('shows pools from rows, at each balancer, and health only where known here', () => {
  become(active);
  expect(view()).toEqual([
    expect.objectContaining({
      ...{ pool: 'api', balancer: 'cloud', driver: 'anexia', state: null, isTended: false },
      ...{ members: [], minActive: 2, addresses: null },
    }),
    expect.objectContaining({
      ...{ ...API, driver: 'haproxy', state: 'settled', settledAtMs: 5, isTended: true },
      members: [expect.objectContaining({ slot: A, state: 'active', sessions: 2, health: null })],
    }),
  ]);
  const seen = new Map([[ID, { health: 'down', sessions: 9 } as const]]);
  const addresses = new Map([['192.0.2.10', [80, 443]]]);
  tended = [{ ...API, members: seen, addresses } as unknown as TendedPool];
  const [, edge] = view();
  expect(edge).toMatchObject({
    members: [{ health: 'down', sessions: 9 }],
    addresses: [{ address: '192.0.2.10', ports: [80, 443] }],
  });
});

test('shows a pool that is no longer configured while rows of it remain', () => {
  become({ ...active, pool: 'old' });
  expect(view().map(({ pool, driver, minActive }) => [pool, driver, minActive])).toEqual([
    ['api', 'anexia', 2],
    ['api', 'haproxy', 2],
    ['old', 'haproxy', 0],
  ]);
});
