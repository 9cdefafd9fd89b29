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

/** A pool at one of its balancers: its rows and its existing objects. */
export interface PoolStand {
  readonly pool: Pool;
  readonly balancer: string;
  /** Null: the balancer is not configured, or could not be opened. */
  readonly capabilities: (StepInput['capabilities'] & { readonly update: boolean }) | null;
  /** The existing objects; null: they cannot be read, for the reason in `failure`. */
  readonly observed: readonly Observed[] | null;
  readonly failure: string | null;
  readonly row: PoolRow;
  /** The desired state of each machine here, as far as is known. */
  readonly wishes: ReadonlyMap<MachineId, Wish>;
  /** Members of the pool. */
  readonly members: ReadonlyMap<MachineId, MemberRow>;
  readonly elsewhere: StepInput['elsewhere'];
  /** Memory of earlier looks; absent: none. */
  readonly memory?: Remembered;
  /** Failed and refused changes, which are not tried now; absent: none. */
  readonly tried?: Pick<PlanInput, 'troubles' | 'refusals'>;
  /** Address for connections to the machine; null: unknown. */
  readonly addressOf: (machine: MachineId) => string | null;
  /** The machine's name for people. */
  readonly nameOf: (machine: MachineId) => string;
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly sha256: (text: string) => string;
}

/** A planned change of one machine's membership. */
export interface MemberMove {
  readonly member: string;
  /** Null: the machine is no member. */
  readonly from: string | null;
  /** Null: the member keeps its state. */
  readonly to: string | null;
  readonly why: string | null;
}

/** The next planned changes for a pool at a balancer, and the reasons. */
export interface PoolPlan {
  readonly pool: string;
  readonly balancer: string;
  /** Null: the balancer cannot be read, and nothing would be done. */
  readonly plan: Plan | null;
  readonly failure: string | null;
  /** Members that get no server, with the reason. */
  readonly leftOut: ReadonlyMap<MachineId, string>;
  readonly moves: readonly MemberMove[];
  /** Members that are not dropped, because too many would be dropped together. */
  readonly panic: readonly string[];
  /** Why nothing would be done although there are changes; null: they would be made. */
  readonly held: string | null;
}

const NOTHING: readonly Desired[] = [];

/** Pure: reads nothing and changes nothing. */
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

/** Describes one planned change at a balancer. */
export function actionOf(action: Action) {
  const { kind, name } =
    action.act === 'create'
      ? action.desired.spec
      : { kind: action.object.ref.kind, name: action.object.spec.name };
  const id = action.act === 'create' ? null : action.object.ref.id;
  return { act: action.act, kind, name, id, why: 'why' in action ? action.why : null };
}

/** The plan as the API and the command line show it. */
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
