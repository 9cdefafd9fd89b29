import type { MachineId } from '../ids.ts';
import { desiredOf, machineOf, type PlacedMember } from './desired.ts';
import { isLetGo } from './drain-turns.ts';
import type { StepInput, Steps } from './member-pass.ts';
import { stepMembers } from './member-steps.ts';
import type { MemberRow, Wish } from './members.ts';
import type { Desired, Observed } from './objects.ts';
import { planOf, type Action, type Plan, type PlanInput } from './plan.ts';
import type { PoolRow } from './pool-row.ts';
import type { Pool } from './pools.ts';
import { newRemembered, sightsOf, type Remembered } from './sights.ts';

/** A pool at one of its balancers, as it is there and in rows. */
export interface PoolStand {
  readonly pool: Pool;
  readonly balancer: string;
  /** Null: the balancer is not configured, or could not be opened. */
  readonly capabilities: (StepInput['capabilities'] & { readonly update: boolean }) | null;
  /** What is there; null: that cannot be read, and `failure` says why. */
  readonly observed: readonly Observed[] | null;
  readonly failure: string | null;
  readonly row: PoolRow;
  /** What is to become of each machine here, as far as is known. */
  readonly wishes: ReadonlyMap<MachineId, Wish>;
  /** Members of it. */
  readonly members: ReadonlyMap<MachineId, MemberRow>;
  readonly elsewhere: StepInput['elsewhere'];
  /** Of earlier looks; absent: nothing is remembered. */
  readonly memory?: Remembered;
  /** What failed or was refused, and so is not tried now; absent: nothing. */
  readonly tried?: Pick<PlanInput, 'troubles' | 'refusals'>;
  /** Where connections to the machine go; null: it is not known. */
  readonly addressOf: (machine: MachineId) => string | null;
  /** What people call it. */
  readonly nameOf: (machine: MachineId) => string;
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly sha256: (text: string) => string;
}

/** What would become of one machine in a pool. */
export interface MemberMove {
  readonly member: string;
  /** Null: it is no member. */
  readonly from: string | null;
  /** Null: it stays what it is. */
  readonly to: string | null;
  readonly why: string | null;
}

/** What would be done for a pool at a balancer next, and why. */
export interface PoolPlan {
  readonly pool: string;
  readonly balancer: string;
  /** Null: the balancer cannot be read, and nothing would be done. */
  readonly plan: Plan | null;
  readonly failure: string | null;
  /** Members that are to have no server, and why. */
  readonly leftOut: ReadonlyMap<MachineId, string>;
  readonly moves: readonly MemberMove[];
  /** Members that would be dropped together, and are not: too many at once. */
  readonly panic: readonly string[];
  /** Why nothing would be done though there is something to do; null: it would. */
  readonly held: string | null;
}

const NOTHING: readonly Desired[] = [];

/** Pure: asks nobody and changes nothing. */
export function poolPlanOf(stand: PoolStand): PoolPlan {
  const { pool, balancer, capabilities, observed, failure, row, nowMs, sha256 } = stand;
  const members = [...stand.members.values()];
  const seen = serverAddresses(observed ?? []);
  const placed = members
    .filter(({ state }) => state !== 'drained')
    .map(({ machineId }): PlacedMember => {
      return { machineId, address: stand.addressOf(machineId) ?? seen.get(machineId) ?? null };
    });
  const { objects, leftOut } = desiredOf(pool, placed, sha256);
  const { tornDown, accepted } = row;
  const about = { pool: pool.pool, balancer, failure, leftOut, held: heldBy(row) };
  const moving = movesOf(stand);
  if (observed === null || capabilities === null) return { ...about, ...moving, plan: null };
  const plan = planOf({
    desired: tornDown === null ? objects : NOTHING,
    observed,
    capabilities,
    nowMs,
    letGo: new Set(members.filter(isLetGo).map(({ machineId }) => machineId)),
    mayDropAll: tornDown !== null || accepted !== null,
    ...(stand.tried ?? { troubles: new Map() }),
  });
  return { ...about, ...moving, plan };
}

function serverAddresses(observed: readonly Observed[]): ReadonlyMap<MachineId, string> {
  const found = new Map<MachineId, string>();
  for (const { spec } of observed) {
    const machine = spec.kind === 'server' ? machineOf(spec.name) : null;
    if (spec.kind === 'server' && !found.has(machine!)) found.set(machine!, spec.address);
  }
  return found;
}

const heldBy = (row: PoolRow): string | null => {
  if (row.paused) return `paused by ${row.paused.by}: ${row.paused.reason}`;
  return row.frozen ? `frozen: ${row.frozen.reason}` : null;
};

function movesOf(stand: PoolStand): Pick<PoolPlan, 'moves' | 'panic'> {
  const { pool, balancer, capabilities, observed, failure, row, wishes, members, nowMs } = stand;
  if (capabilities === null) return { moves: [], panic: [] };
  const steps = stepMembers({
    ...{ pool, balancer, capabilities, wishes, nowMs },
    rows: members,
    sights: observed && sightsOf(pool, observed),
    memory: stand.memory ?? newRemembered(),
    elsewhere: stand.elsewhere,
    unreachable: failure === null ? null : { sinceMs: nowMs, why: failure },
    mayDropAll: row.accepted !== null,
    isTornDown: row.tornDown !== null,
  });
  return {
    moves: steps.moves.map((each) => moveOf(each, stand)),
    panic: steps.panic.map(stand.nameOf),
  };
}

function moveOf(
  { move }: Steps['moves'][number],
  { members, wishes, nameOf }: PoolStand,
): MemberMove {
  const { machineId, to = null, note } = move;
  const wish = wishes.get(machineId);
  const reason = wish && 'reason' in wish ? wish.reason : null;
  const from = members.get(machineId)?.state ?? null;
  return { member: nameOf(machineId), from, to, why: note ?? reason };
}

/** One thing that would be done at a balancer, in words. */
export function actionOf(action: Action) {
  const { kind, name } =
    action.act === 'create'
      ? action.desired.spec
      : { kind: action.object.ref.kind, name: action.object.spec.name };
  const id = action.act === 'create' ? null : action.object.ref.id;
  return { act: action.act, kind, name, id, why: 'why' in action ? action.why : null };
}

/** A plan in the words of the API and the command line. */
export const toldPoolPlan = ({ plan, leftOut, failure, held, moves, panic }: PoolPlan) => ({
  ...{ failure, held, moves, panic },
  stage: plan?.stage ?? null,
  actions: (plan?.actions ?? []).map(actionOf),
  pending: plan?.pending ?? null,
  unready: plan?.unready.length ?? 0,
  dropping: plan?.dropping ?? [],
  shelved: plan?.shelved ?? [],
  isComplete: plan?.isComplete ?? false,
  leftOut: [...leftOut].map(([machineId, why]) => ({ machineId, why })),
});
