import { machineOf } from '../../domain/balancing/desired.ts';
import { keyOf, type Desired, type ObjectKind } from '../../domain/balancing/objects.ts';
import type { Action } from '../../domain/balancing/plan.ts';
import { codeOf } from '../../domain/errors.ts';
import type { Change, Changed, PoolService } from './pool-service.ts';

/**
 * Carries out a plan, neighbours of one kind together, and reports each result.
 * @throws the first failure that is no plain refusal: nothing more is started then.
 */
export async function carryOut(
  service: PoolService,
  actions: readonly Action[],
  signal: AbortSignal,
  tell: (action: Action, end: Changed) => void,
  made: Made = [],
): Promise<void> {
  for (const group of groupsOf(actions, service.balancer.capabilities.atOnce)) {
    const changes = group.map((action) => changeOf(service, action, made));
    const ends = await service.changeAll(signal, changes);
    for (const [at, end] of ends.entries()) tell(group[at]!, end);
    for (const end of ends) {
      if (end.status === 'rejected' && codeOf(end.reason) !== 'remote-failure') throw end.reason;
    }
  }
}

/** Created objects that must become ready. */
export type Made = PoolService['awaited'][number][];

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

function changeOf(service: PoolService, action: Action, made: Made): Change {
  const { balancer, pool } = service;
  if (action.act === 'create') {
    const { desired, parent } = action;
    return {
      isWanted: () => isStillWanted(service, desired),
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
    const isDropped = service.plan?.stage === 'dropping';
    return {
      isWanted: () => !isDropped || !hasServer(service, machineOf(spec.name)),
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
function hasServer(
  { rows, balancer }: PoolService,
  machine: ReturnType<typeof machineOf>,
): boolean {
  const state = rows.get(machine)?.state ?? 'drained';
  return state !== 'drained' && (state !== 'draining' || balancer.capabilities.drain === 'native');
}

const isStillWanted = (service: PoolService, { machineId }: Desired): boolean =>
  machineId === undefined || hasServer(service, machineId);
