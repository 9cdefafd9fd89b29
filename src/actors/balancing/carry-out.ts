import { machineOf } from '../../domain/balancing/desired.ts';
import { keyOf, type Desired, type ObjectKind } from '../../domain/balancing/objects.ts';
import type { Action } from '../../domain/balancing/plan.ts';
import { codeOf } from '../../domain/errors.ts';
import type { Change, Changed, PoolDesk } from './desk.ts';

/**
 * Carries out a plan, neighbours of one kind together, and reports each result.
 * @throws the first failure that is no plain refusal: nothing more is started then.
 */
export async function carryOut(
  desk: PoolDesk,
  actions: readonly Action[],
  signal: AbortSignal,
  tell: (action: Action, end: Changed) => void,
  made: Made = [],
): Promise<void> {
  for (const group of groupsOf(actions, desk.balancer.capabilities.atOnce)) {
    const changes = group.map((action) => changeOf(desk, action, made));
    const ends = await desk.changeAll(signal, changes);
    for (const [at, end] of ends.entries()) tell(group[at]!, end);
    for (const end of ends) {
      if (end.status === 'rejected' && codeOf(end.reason) !== 'remote-failure') throw end.reason;
    }
  }
}

/** Created objects that must become ready. */
export type Made = PoolDesk['awaited'][number][];

function groupsOf(actions: readonly Action[], sizeMax: number): readonly (readonly Action[])[] {
  const groups: Action[][] = [];
  for (const action of actions) {
    const last = groups.at(-1);
    const isSame = last && last.length < sizeMax && isAlike(last[0]!, action);
    if (isSame) last.push(action);
    else groups.push([action]);
  }
  return groups;
}

const isAlike = (one: Action, other: Action): boolean =>
  one.act === other.act && kindOf(one) === kindOf(other);
const kindOf = (action: Action): ObjectKind =>
  action.act === 'create' ? action.desired.spec.kind : action.object.ref.kind;

function changeOf(desk: PoolDesk, action: Action, made: Made): Change {
  const { balancer, pool } = desk;
  if (action.act === 'create') {
    const { desired, parent } = action;
    return {
      isWanted: () => isStillWanted(desk, desired),
      async call(options) {
        const ref = await balancer.create(desired, parent, pool, options);
        made.push({ ref, key: keyOf(ref.kind, desired.spec.name) });
      },
    };
  }
  const { ref, spec } = action.object;
  if (action.act === 'adopt') {
    return { isWanted: always, call: (options) => balancer.adopt!(ref, pool, options) };
  }
  if (action.act === 'destroy') {
    const isDropped = desk.plan?.stage === 'dropping';
    return {
      isWanted: () => !isDropped || !hasServer(desk, machineOf(spec.name)),
      call: (options) => balancer.destroy(ref, pool, options),
    };
  }
  const { desired, parent } = action;
  return {
    isWanted: always,
    async call(options) {
      await balancer.update!(ref, desired, parent, pool, options);
      made.push({ ref, key: keyOf(ref.kind, desired.spec.name) });
    },
  };
}

const always = () => true;

/** Whether the machine should have servers according to its row now. */
function hasServer({ rows, balancer }: PoolDesk, machine: ReturnType<typeof machineOf>): boolean {
  const state = rows.get(machine)?.state ?? 'drained';
  return state !== 'drained' && (state !== 'draining' || balancer.capabilities.drain === 'native');
}

const isStillWanted = (desk: PoolDesk, { machineId }: Desired): boolean =>
  machineId === undefined || hasServer(desk, machineId);
