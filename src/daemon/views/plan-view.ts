import { createHash } from 'node:crypto';
import type { PoolService } from '../../actors/balancing/pool-service.ts';
import type { BoardEntry } from '../../actors/fleet-state.ts';
import { balancerJob } from '../../actors/balancing/deps.ts';
import { provisionerJob } from '../../actors/leases.ts';
import { mayEraseDisks } from '../../config.ts';
import type { PlanAnswer } from '../../console/api/plan-schema.ts';
import { otherPlaces } from '../../domain/balancing/members.ts';
import { poolPlanOf, toldPoolPlan } from '../../domain/balancing/pool-plan.ts';
import { memberAddress } from '../../domain/balancing/desired-member.ts';
import { bySeniority, seniorityOf, type Seniority } from '../../domain/seniority.ts';
import { queueInOrder, type Queue } from '../../domain/explanation/queue.ts';
import type { MachineId, Slot } from '../../domain/ids.ts';
import type { MachineRow, Process } from '../../domain/machine.ts';
import type { Explainer } from './explaining.ts';
import type { DaemonParts } from '../parts.ts';

/** Number of machines listed per kind of work. */
const TOLD_MAX = 50;

const PROCESS = {
  recovery: 'ShepherdRecovery',
  agentStart: 'ShepherdAgentStart',
  deprovision: 'ShepherdDeprovision',
} as const satisfies Partial<Record<PlanAnswer['work'][number]['work'], Process>>;
type Work = keyof typeof PROCESS;

/** The next actions of this daemon and, as far as known, of others, for the console. */
export const fleetPlan = (parts: DaemonParts, insight: Explainer): PlanAnswer => ({
  atMs: parts.mirror.nowMs(),
  providers: providerOutlooks(parts),
  work: workOutlooks(parts, insight),
  pools: poolOutlooks(parts),
});

function holderOf({ keeper, mirror }: DaemonParts, job: string) {
  const lease = mirror.leases().find(({ name, held }) => held && name === job);
  const sessionId = lease?.sessionId ?? null;
  return { sessionId, isHere: sessionId !== null && sessionId === keeper.current()?.sessionId };
}

function providerOutlooks(parts: DaemonParts): PlanAnswer['providers'] {
  const { config, health, planner, providers } = parts;
  const unlisted = new Map(health.unlisted().map(({ provider, cause }) => [provider, cause]));
  return [...providers.values()]
    .map((each) => {
      const planned = planner.fresh(each.name);
      return {
        provider: each.name,
        ...holderOf(parts, provisionerJob(each.name)),
        mayEraseDisks: mayEraseDisks(config, each),
        unlisted: unlisted.get(each.name) ?? null,
        plan: planned && { ...planned.foresight, atMs: planned.atMs },
      };
    })
    .toSorted((a, b) => (a.provider < b.provider ? -1 : 1));
}

interface RankedSlot extends Seniority {
  readonly slot: Slot;
}

function workOutlooks(parts: DaemonParts, insight: Explainer): PlanAnswer['work'] {
  const { board, mirror } = parts;
  const facts = mirror.facts();
  const found = new Map<Work, { count: number; first: RankedSlot[] }>(
    (Object.keys(PROCESS) as Work[]).map((work) => [work, { count: 0, first: [] }]),
  );
  for (const entry of board.entries.values()) {
    const { slot } = entry.view;
    const row = facts.get(slot)?.row;
    const work = row ? workOn(entry, row) : null;
    if (!row || work === null) continue;
    const kind = found.get(work)!;
    kind.count += 1;
    keepFirst(kind.first, { slot, ...seniorityOf(PROCESS[work], row) });
  }
  const queues = queuesOf(parts);
  return [...found].map(([work, { count, first }]) => ({
    work,
    count,
    machines: first.flatMap(({ slot }) => {
      const entry = board.entries.get(slot);
      const explanation = insight.glance(slot, queues.get(slot) ?? null);
      if (!entry || !explanation) return [];
      return [{ ...explanation, slot, state: entry.state, substate: entry.substate }];
    }),
  }));
}

/** The current or next work on a machine, apart from blocks; null: none. */
function workOn({ view, state, substate }: BoardEntry, row: MachineRow): Work | null {
  if (view.next !== null) return view.next;
  switch (state) {
    case 'Provisioned':
      return substate === 'stopped' || substate === 'failed' ? null : 'agentStart';
    case 'AgentStarting':
      return 'agentStart';
    case 'Running':
      return substate === 'silent' || row.order !== null ? 'recovery' : null;
    case 'Recovering':
      return 'recovery';
    case 'Deprovisioning':
      return 'deprovision';
    case 'Reserved':
    case 'HandedOver':
    case 'Quarantined':
    case 'Released':
      return null;
  }
}

/** There may be as many candidates as machines, and only the first are listed. */
function keepFirst(first: RankedSlot[], candidate: RankedSlot): void {
  const last = first.at(-1);
  if (first.length >= TOLD_MAX && last && bySeniority(last, candidate) <= 0) return;
  const at = first.findIndex((each) => bySeniority(candidate, each) < 0);
  first.splice(at === -1 ? first.length : at, 0, candidate);
  if (first.length > TOLD_MAX) first.pop();
}

/** Positions of all machines that wait for a permit, in one pass. */
function queuesOf({ mirror, permits }: DaemonParts): ReadonlyMap<Slot, Queue | null> {
  const facts = mirror.facts();
  const slots = new Map<MachineRow, Slot>();
  for (const slot of permits.waiting()) {
    const row = facts.get(slot)?.row;
    if (row) slots.set(row, slot);
  }
  return new Map(
    queueInOrder(slots.keys(), permits.use()).map(({ row, queue }) => [slots.get(row)!, queue]),
  );
}

function poolOutlooks(parts: DaemonParts): PlanAnswer['pools'] {
  const { pools, poolsBoard } = parts;
  const services = [...poolsBoard.services()];
  return pools.flatMap(({ pool, balancers }) =>
    balancers.map((balancer) => {
      const service = services.find(({ name }) => name.pool === pool && name.balancer === balancer);
      const holder = holderOf(parts, balancerJob(balancer));
      return {
        ...{ pool, balancer, ...holder },
        seenAtMs: service?.seen()?.atMs ?? null,
        plan: service ? toldPoolPlan(planOf(service, parts)) : null,
      };
    }),
  );
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** From the last look at the balancer. */
function planOf(service: PoolService, { mirror, wishes: repository }: DaemonParts) {
  const { pool, name, balancer, rows, memory, troubles, refusals } = service;
  const wishes = repository.of(pool.pool);
  const facts = mirror.facts();
  const rowOf = (machine: MachineId) => {
    const slot = wishes.get(machine)?.slot;
    const row = slot === undefined ? null : (facts.get(slot)?.row ?? null);
    return row?.machineId === machine ? row : null;
  };
  const elsewhere = new Map(
    [...wishes.keys()].map((machine) => [
      machine,
      otherPlaces(rowOf(machine)?.members ?? [], name),
    ]),
  );
  const away = service.unreachable();
  return poolPlanOf({
    ...{ pool, balancer: name.balancer, capabilities: balancer.capabilities, wishes, elsewhere },
    ...{ members: rows, memory, tried: { troubles, refusals }, row: service.standing(), sha256 },
    observed: away ? null : (service.seen()?.objects ?? null),
    failure: away?.why ?? (service.seen() ? null : 'the balancer was not read yet'),
    addressOf: (machine) => memberAddress(rowOf(machine)?.provided?.address ?? null),
    nameOf: (machine) => wishes.get(machine)?.slot ?? machine,
    nowMs: mirror.nowMs(),
  });
}
