import { desiredOf } from '../../../src/domain/balancing/desired.ts';
import { stepMembers, type StepInput } from '../../../src/domain/balancing/member-steps.ts';
import type { MemberRow, DesiredMember } from '../../../src/domain/balancing/members.ts';
import type { PoolPort } from '../../../src/domain/balancing/pools.ts';
import { planOf, type PlanInput } from '../../../src/domain/balancing/plan.ts';
import { newRemembered, sightsOf } from '../../../src/domain/balancing/member-readings.ts';
import type { MachineId } from '../../../src/domain/ids.ts';
import { hashHex, observedOf, pool } from '../../domain/balancing/pool.ts';
import { memberRow, SLOT } from '../../support/facts.ts';
import { best } from '../measure.ts';
import { idOf } from './machines.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

const addressOf = (at: number): string => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;

/** Duration of a plan for a pool with this many ports, each with missing or surplus servers. */
export function measurePlan(members: number, ports: number): () => number {
  const { shape, placed } = fleetOf(members, ports);
  const { objects } = desiredOf(shape, placed, hashHex);
  const there = observedOf(objects, ({ spec }) => (isSpecial(spec.name) ? null : {}));
  const input: PlanInput = {
    desired: objects.filter(({ spec }) => !spec.name.includes('00005.')),
    observed: there,
    capabilities: { update: true },
    troubles: new Map(),
    nowMs: NOW,
    letGo: new Set(),
  };
  return best(() => {
    const plan = planOf(input);
    if (plan.pending.create === 0 && members > 1_000) throw new Error('nothing was planned');
  });
}

const isSpecial = (name: string): boolean => name.includes('00007.');

/** Duration of one pass over the members, when most members need nothing. */
export function measureSteps(members: number): () => number {
  const { shape, placed } = fleetOf(members);
  const { objects } = desiredOf(shape, placed, hashHex);
  const wishes = new Map<MachineId, DesiredMember>();
  const rows = new Map<MachineId, MemberRow>();
  for (const { machineId: id, address } of placed) {
    wishes.set(id, { want: 'serve', slot: SLOT, machineId: id, address });
    rows.set(id, memberRow({ balancer: 'edge', machineId: id, sinceMs: NOW }));
  }
  const observed = observedOf(objects, () => ({
    server: { mode: 'active', health: 'up', sessions: 3 },
  }));
  const input: StepInput = {
    pool: shape,
    balancer: 'edge',
    capabilities: { drain: 'native', sessions: true, health: true },
    wishes,
    rows,
    sights: sightsOf(shape, observed),
    memory: newRemembered(),
    elsewhere: new Map(),
    unreachable: null,
    mayDropAll: false,
    isTornDown: false,
    nowMs: NOW,
  };
  return best(() => {
    if (stepMembers(input).moves.length > 0) throw new Error('something was to do');
  });
}

const portOf = (at: number): PoolPort => ({
  name: `p${at}`,
  external: 80 + at,
  internal: 8_080 + at,
  check: { by: 'tcp' },
});

function fleetOf(members: number, ports = 1) {
  const placed = Array.from({ length: members }, (_, at) => ({
    machineId: idOf(at),
    address: addressOf(at),
  }));
  const all = Array.from({ length: ports }, (_, at) => portOf(at));
  return { shape: pool({ ports: all }), placed };
}
