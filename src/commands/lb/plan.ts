import { createHash } from 'node:crypto';
import { desiredOf, machineOf, type PlacedMember } from '../../domain/balancing/desired.ts';
import type { MemberRow } from '../../domain/balancing/members.ts';
import type { Desired } from '../../domain/balancing/objects.ts';
import { planOf, type Action, type Plan } from '../../domain/balancing/plan.ts';
import { newPool, type PoolRow } from '../../domain/balancing/pool-row.ts';
import { memberAddress } from '../../domain/balancing/wish.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { MachineRow } from '../../domain/machine.ts';
import { readFleet, type Means, type Told } from '../machine/command.ts';
import { columnLines, noteLines, paragraph } from '../machine/layout.ts';
import type { RecordedFleet } from '../machine/recorded-fleet.ts';
import { jsonLine } from '../text-table.ts';
import { planMembers, type MemberPlan } from './plan-members.ts';
import { poolsNamed, readAtBalancers, type Looking, type PoolThere } from './observed.ts';

export interface PlanOptions extends Looking {
  /** Only this one; all configured ones when absent. */
  readonly pool?: string | undefined;
  readonly json: boolean;
}

/** What a daemon would do for a pool at a balancer, were it to look now. */
interface PoolPlan {
  readonly pool: string;
  readonly balancer: string;
  /** Null: the balancer cannot be read, and nothing would be done. */
  readonly plan: Plan | null;
  readonly failure: string | null;
  /** Members that are to have no server, and why. */
  readonly leftOut: ReadonlyMap<MachineId, string>;
  /** What would become of its members. */
  readonly members: MemberPlan;
  /** Why nothing would be done though there is something to do; null: it would. */
  readonly held: string | null;
}

/**
 * `shepherd lb plan`: reads what is at the balancers, and tells what would be done there next by the
 * members that the BMDB has now. Changes nothing.
 * @throws {UsageError} there is no such pool.
 */
export async function poolPlan(options: PlanOptions, means: Means): Promise<Told> {
  const pools = poolsNamed(means, options.pool);
  const fleet = await readFleet(means);
  const there = await readAtBalancers(pools, options, means);
  const plans = there.map((each) => planFor(each, fleet));
  const exitCode = plans.every(({ failure }) => failure === null) ? 0 : 1;
  if (options.json) return { text: jsonLine({ pools: plans.map(asJson) }), exitCode };
  if (plans.length === 0) return { text: 'no pool is configured', exitCode };
  return { text: plans.map((each) => inWords(each, means.width)).join('\n\n'), exitCode };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function planFor(there: PoolThere, fleet: RecordedFleet): PoolPlan {
  const { pool, balancer, capabilities, observed, failure } = there;
  const { read } = fleet;
  const name = { pool: pool.pool, balancer };
  const row =
    read.pools.find((each) => each.pool === name.pool && each.balancer === balancer) ??
    newPool(name);
  const members = read.machines.flatMap((machine) =>
    machine.members
      .filter((each) => each.pool === pool.pool && each.balancer === balancer)
      .map((member) => ({ machine, member })),
  );
  const served = members.filter(({ member }) => member.state !== 'drained');
  const placed = served.map(({ machine }): PlacedMember => ({
    machineId: machine.machineId,
    address:
      memberAddress(machine.provided?.address ?? null) ?? seenAt(machine.machineId, observed),
  }));
  const { objects, leftOut } = desiredOf(pool, placed, sha256);
  const { tornDown, accepted } = row;
  const held = heldBy(row);
  const about = { ...name, leftOut, held, failure, members: planMembers(there, row, fleet) };
  if (observed === null || capabilities === null) return { ...about, plan: null };
  return {
    ...about,
    plan: planOf({
      desired: tornDown === null ? objects : NOTHING,
      observed,
      capabilities,
      troubles: new Map(),
      nowMs: read.nowMs,
      letGo: new Set(members.filter(({ member }) => isLetGo(member)).map(idOf)),
      mayDropAll: tornDown !== null || accepted !== null,
    }),
  };
}

const NOTHING: readonly Desired[] = [];
const idOf = ({ machine }: { readonly machine: MachineRow }): MachineId => machine.machineId;
const isLetGo = ({ state }: MemberRow): boolean => state === 'draining' || state === 'drained';

const seenAt = (machine: MachineId, observed: PoolThere['observed']): string | null => {
  const specs = (observed ?? []).map(({ spec }) => spec);
  const own = specs.find((spec) => spec.kind === 'server' && machineOf(spec.name) === machine);
  return own?.kind === 'server' ? own.address : null;
};

const heldBy = (row: PoolRow): string | null => {
  if (row.paused) return `paused by ${row.paused.by}: ${row.paused.reason}`;
  return row.frozen ? `frozen: ${row.frozen.reason}` : null;
};

const asJson = ({ pool, balancer, plan, failure, leftOut, held, members }: PoolPlan) => ({
  pool,
  balancer,
  members: members.moves,
  panic: members.panic,
  ...(plan === null
    ? { failure }
    : {
        held,
        stage: plan.stage,
        actions: plan.actions.map((action) => ({ ...actionOf(action) })),
        pending: plan.pending,
        unready: plan.unready,
        shelved: plan.shelved,
        dropping: plan.dropping,
        isComplete: plan.isComplete,
      }),
  leftOut: Object.fromEntries(leftOut),
});

function actionOf(action: Action) {
  const { kind, name } =
    action.act === 'create'
      ? action.desired.spec
      : { kind: action.object.ref.kind, name: action.object.spec.name };
  const id = action.act === 'create' ? null : action.object.ref.id;
  return { act: action.act, kind, name, id, why: 'why' in action ? action.why : null };
}

const STAGE_WORDS: Readonly<Record<Plan['stage'], string>> = {
  frozen: 'nothing, since too many members would be dropped at once',
  dropping: 'take out servers of machines that are no members',
  recovering: 'ask again for objects that failed',
  clashing: 'remove what stands where another is to be',
  creating: 'make what is missing',
  waiting: 'wait for objects that are not ready',
  leaving: 'remove what nobody wants any more',
  settled: 'nothing: all is as desired',
};

function inWords(planned: PoolPlan, width: number): string {
  const { pool, balancer, plan, failure, leftOut, held, members } = planned;
  const place = `${pool} at ${balancer}`;
  const left = [
    ...members.moves.flatMap(({ member, from, to, why }) => [
      `    ${member}: ${to === null ? `stays ${from ?? 'out'}` : `${from ?? 'not a member'} → ${to}`}`,
      ...(why === null ? [] : [noteLines(`  ${why}`, width)]),
    ]),
    ...members.panic.map((member) =>
      noteLines(`${member} would be dropped, and is not: too many at once`, width),
    ),
    ...[...leftOut].map(([machine, why]) =>
      noteLines(`machine ${machine} gets no server: ${why}`, width),
    ),
  ];
  if (plan === null) {
    return [paragraph(`${place}: cannot be read: ${failure}`, width), ...left].join('\n');
  }
  const { stage, actions, unready, shelved, dropping, pending, isComplete } = plan;
  const words =
    stage === 'settled' && !isComplete ? 'nothing now, though not all is well' : STAGE_WORDS[stage];
  const later = pending.create + pending.update + pending.destroy - actions.length;
  return [
    paragraph(`${place}: ${held === null ? words : `nothing, since it is ${held}`}`, width),
    ...columnLines(
      actions
        .map(actionOf)
        .map(({ act, kind, name, why }) => [`    ${act}`, kind, name, why ?? '']),
    ),
    ...dropping.map((machine) => noteLines(`would be dropped: machine ${machine}`, width)),
    ...(unready.length === 0 ? [] : [noteLines(`${unready.length} objects are not ready`, width)]),
    ...shelved.map((name) => noteLines(`${name} failed so often that it is left alone`, width)),
    ...(later > 0 ? [noteLines(`and ${later} more after that`, width)] : []),
    ...left,
  ].join('\n');
}
