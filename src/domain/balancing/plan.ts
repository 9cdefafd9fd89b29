import { machineOf } from './desired.ts';
import { matchAll, type Match, remedyOf, type Trouble } from './matches.ts';
import {
  keyOf,
  PARENT_KIND,
  type BindSpec,
  type Desired,
  type ObjectKind,
  type Observed,
  type Ref,
} from './objects.ts';
import type { MachineId } from '../ids.ts';
import { retryMs } from './waiting.ts';

/** One change to make at a balancer. */
export type Action =
  | { readonly act: 'adopt'; readonly object: Observed }
  | { readonly act: 'create'; readonly desired: Desired; readonly parent: Ref | null }
  | {
      readonly act: 'update';
      readonly object: Observed;
      readonly desired: Desired;
      readonly parent: Ref | null;
      /** What differs from the desired state, for people. */
      readonly why: string;
    }
  | { readonly act: 'destroy'; readonly object: Observed; readonly why: string };

/** Stages of a plan in order: the first stage that applies is carried out. */
export const STAGES = [
  'frozen',
  'dropping',
  'recovering',
  'clashing',
  'creating',
  'waiting',
  'leaving',
  'settled',
] as const;
/**
 * - `frozen`: too many servers of undrained members would go at once: nothing is done.
 * - `dropping`: removes servers of machines that are no members.
 * - `recovering`: submits failed objects again.
 * - `clashing`: removes objects that stand where another object should be.
 * - `creating`: creates missing objects whose parents exist, adopts untagged ones, updates
 * different ones.
 * - `waiting`: waits for objects that are not ready.
 * - `leaving`: removes unwanted objects, once all wanted objects exist.
 */
export type PoolStage = (typeof STAGES)[number];

export interface Plan {
  readonly stage: PoolStage;
  /** Actions of this stage only, in order. */
  readonly actions: readonly Action[];
  /** Wanted objects that are not ready. Objects that timed out are left out. */
  readonly unready: readonly Ref[];
  /** Counts of all known changes, of all stages. */
  readonly pending: { readonly create: number; readonly update: number; readonly destroy: number };
  /** Names of objects that failed so often that nothing more is tried for a while. */
  readonly shelved: readonly string[];
  /** Changes that the balancer refused, with the reason; they are not submitted again yet. */
  readonly refused: readonly { readonly what: string; readonly why: string }[];
  /** When a failed or refused change may be tried again, epoch ms; null: there is none. */
  readonly retryAtMs: number | null;
  /** Of `frozen`: the machines whose servers would go. */
  readonly dropping: readonly MachineId[];
  /** Nothing is left to do, to wait for, or to retry. */
  readonly isComplete: boolean;
}

export interface PlanInput {
  readonly desired: readonly Desired[];
  readonly observed: readonly Observed[];
  readonly capabilities: { readonly update: boolean };
  /** Attempts to repair failed objects, by `keyOf`. */
  readonly troubles: ReadonlyMap<string, Trouble>;
  /** Refused changes, by `changeKey`; absent: none. */
  readonly refusals?: ReadonlyMap<string, BalancerRefusal>;
  readonly nowMs: number;
  /** Machines whose servers may go, because they were drained one by one. */
  readonly letGo: { has(machine: MachineId): boolean };
  /** All servers may go: the pool is being torn down, or an operator accepted it. */
  readonly mayDropAll?: boolean;
}

/** Decides the next step for one pool at one balancer. Pure and total; takes linear time. */
export function planOf(input: PlanInput): Plan {
  const { capabilities, troubles, refusals, nowMs, mayDropAll = false } = input;
  const matches = matchAll(input);
  const kept = new Set<Observed>();
  for (const { object } of matches) if (object) kept.add(object);
  const sorted = sortOut(input, matches, kept);
  const recover: Action[] = [];
  const clashes: Action[] = [...sorted.clashes];
  const create: Action[] = [];
  const unready: Ref[] = [];
  let stuck = 0;
  const shelved: string[] = [];
  let retryAtMs: number | null = null;
  let isPatient = false;
  const refused = new Map<string, Plan['refused'][number]>();
  const isWelcome = (action: Action): boolean => {
    const refusal = refusals?.get(changeKey(action));
    const untilMs = refusal ? refusedUntilMs(refusal) : 0;
    if (!refusal || untilMs <= nowMs) return true;
    retryAtMs = Math.min(retryAtMs ?? Infinity, untilMs);
    refused.set(changeKey(action), { what: changeText(action), why: refusal.why });
    return false;
  };
  const remove = (object: Observed, why: string, { withChildren }: { withChildren: boolean }) => {
    const action: Action = { act: 'destroy', object, why };
    if (!isWelcome(action)) return;
    if (withChildren) clashes.push(...sorted.childrenOf(object, why));
    clashes.push(action);
  };

  for (const match of matches) {
    const { desired, object, why, parent, isDue } = match;
    if (!object) {
      if (isDue) create.push({ act: 'create', desired, parent });
      continue;
    }
    if (!object.tagged) create.push({ act: 'adopt', object });
    if (object.phase === 'failed') {
      const trouble = troubles.get(keyOf(object.ref.kind, object.spec.name));
      const remedy = remedyOf(trouble, capabilities, nowMs);
      if (remedy.kind === 'wait') {
        isPatient = true;
        retryAtMs = Math.min(retryAtMs ?? Infinity, remedy.untilMs);
        if (remedy.isCoolingDown) shelved.push(object.spec.name);
      } else if (remedy.kind === 'update') {
        if (match.isParentKnown) {
          recover.push({ act: 'update', object, desired, parent, why: 'it failed' });
        }
      } else {
        const why = 'it failed, and submitting it again did not help';
        remove(object, why, remedy);
      }
      continue;
    }
    if (why !== null && match.isParentKnown) {
      if (capabilities.update) {
        if (isDue) create.push({ act: 'update', object, desired, parent, why });
      } else {
        remove(object, why, { withChildren: true });
      }
    }
    if (object.phase !== 'progressing') continue;
    const stuckUntilMs = troubles.get(keyOf(object.ref.kind, object.spec.name))?.stuckUntilMs ?? 0;
    if (stuckUntilMs > nowMs) stuck += 1;
    else unready.push(object.ref);
  }

  const missing = matches.filter(({ object }) => object === null).length;
  const destroys = sorted.drops.length + clashes.length + sorted.leavers.length;
  const updates = [...recover, ...create].filter(({ act }) => act === 'update').length;
  const dropping = mayDropAll ? [] : suspicious(input, sorted);
  const drops = sorted.drops.filter(isWelcome);
  const makes = create.filter(isWelcome);
  const clears = clashes.filter(isWelcome);
  const leavers = sorted.leavers.filter(isWelcome);
  const stages: readonly (readonly [PoolStage, boolean, readonly Action[]])[] = [
    ['frozen', dropping.length > 0, []],
    ['dropping', drops.length > 0, drops],
    ['recovering', recover.length > 0, recover],
    ['clashing', clears.length > 0, childrenFirst(clears)],
    ['creating', makes.length > 0, makes],
    ['waiting', unready.length > 0, []],
    ['leaving', leavers.length > 0, childrenFirst(leavers)],
  ];
  const [stage, , actions] = stages.find(([, applies]) => applies) ?? ['settled', true, []];
  return {
    stage,
    actions,
    unready,
    pending: { create: missing, update: updates, destroy: destroys },
    shelved,
    refused: [...refused.values()],
    retryAtMs,
    dropping,
    isComplete:
      stage === 'settled' && !isPatient && missing === 0 && stuck === 0 && refused.size === 0,
  };
}

/** Sorts the existing objects that are not kept by what happens to them. */
function sortOut({ observed }: PlanInput, matches: readonly Match[], kept: ReadonlySet<Observed>) {
  const keptParents = new Set<string>();
  const wanted = new Set(matches.map(({ desired: { spec } }) => keyOf(spec.kind, spec.name)));
  const places = new Map<string, Match>();
  for (const match of matches) {
    const { desired, object } = match;
    const { spec } = desired;
    if (spec.kind === 'backend' && object) keptParents.add(object.ref.id);
    if (object && match.why === null) continue;
    if (spec.kind === 'bind') places.set(placeOf(spec), match);
    if (spec.kind === 'server') places.set(`${match.parent?.id ?? ''} ${placeOf(spec)}`, match);
  }
  const children = createChildren(observed);
  const drops: Action[] = [];
  const clashes: Action[] = [];
  const leavers: Action[] = [];
  for (const object of observed) {
    if (kept.has(object)) continue;
    const { spec, ref, parentId } = object;
    const isTwin = wanted.has(keyOf(ref.kind, spec.name));
    if (!object.tagged) {
      leavers.push({ act: 'adopt', object });
      continue;
    }
    const isOurs = parentId === null || keptParents.has(parentId);
    if (spec.kind === 'server' && !isTwin && isOurs) {
      drops.push({ act: 'destroy', object, why: 'its machine is no member' });
      continue;
    }
    const place =
      spec.kind === 'bind'
        ? places.get(placeOf(spec))
        : spec.kind === 'server'
          ? places.get(`${parentId ?? ''} ${placeOf(spec)}`)
          : undefined;
    // Its replacement can be created only after it is gone.
    if (place?.isDue) clashes.push({ act: 'destroy', object, why: STANDS_WHERE });
    else leavers.push({ act: 'destroy', object, why: isTwin ? IS_TWIN : 'nobody wants it' });
  }
  return {
    drops,
    clashes,
    leavers: withoutStandIns(leavers, matches, places),
    /** Destroys all objects that depend on an object, at every depth. */
    childrenOf: (parent: Observed, why: string): Action[] =>
      children(parent).map((object) => ({ act: 'destroy', object, why })),
  };
}

const STANDS_WHERE = 'it stands where another is to be';
const IS_TWIN = 'it exists twice';

/** Returns a function that lists the objects that depend on an object, lowest first. */
function createChildren(observed: readonly Observed[]): (parent: Observed) => Observed[] {
  const byParent = Map.groupBy(observed, ({ ref, parentId }) => {
    const kind = PARENT_KIND[ref.kind];
    return kind === null || parentId === null ? null : keyOf(kind, parentId);
  });
  const childrenOf = ({ ref }: Observed): Observed[] =>
    (byParent.get(keyOf(ref.kind, ref.id)) ?? []).flatMap((child) => [...childrenOf(child), child]);
  return childrenOf;
}

const DESTROY_ORDER: readonly ObjectKind[] = ['bind', 'server', 'frontend', 'backend'];

/** Each object once, children before parents; adoptions come first. */
function childrenFirst(actions: readonly Action[]): readonly Action[] {
  const seen = new Set<Observed>();
  const ranked: Action[][] = [[], [], [], [], []];
  for (const action of actions) {
    if (action.act === 'create') continue;
    if (seen.has(action.object)) continue;
    seen.add(action.object);
    const rank = action.act === 'adopt' ? 0 : 1 + DESTROY_ORDER.indexOf(action.object.ref.kind);
    ranked[rank]!.push(action);
  }
  return ranked.flat();
}

/** Undrained machines whose servers would go, if they are more than half of all machines. */
function suspicious(
  { observed, letGo }: PlanInput,
  { drops }: { readonly drops: readonly Action[] },
): readonly MachineId[] {
  const going = new Set<MachineId>();
  for (const action of drops) {
    if (action.act !== 'destroy') continue;
    const machine = machineOf(action.object.spec.name);
    if (!letGo.has(machine)) going.add(machine);
  }
  if (going.size < 2) return [];
  const all = new Set<MachineId>();
  for (const { spec } of observed) if (spec.kind === 'server') all.add(machineOf(spec.name));
  return isTooMany(going.size, all.size) ? [...going].toSorted() : [];
}

/** More than half of the existing ones, and more than one. */
export const isTooMany = (going: number, all: number): boolean => going >= 2 && going * 2 > all;

/** A change that the balancer understood and refused. */
export interface BalancerRefusal {
  /** Refusals in a row. */
  readonly count: number;
  /** Time of the last refusal, epoch ms. */
  readonly atMs: number;
  /** The balancer's reason, in its own words. */
  readonly why: string;
}

/** Identifies a change, so that one refusal holds back nothing else. */
export function changeKey(action: Action): string {
  const { act } = action;
  if (act === 'create') return `create ${action.desired.spec.kind} ${action.desired.spec.name}`;
  const { kind, id } = action.object.ref;
  return `${act} ${kind} ${id}`;
}

/** Describes the change for people. */
export function changeText(action: Action): string {
  const { kind, name } = action.act === 'create' ? action.desired.spec : action.object.spec;
  return `${action.act} ${kind} ${name}`;
}

export const refusedAgain = (
  before: BalancerRefusal | undefined,
  why: string,
  nowMs: number,
): BalancerRefusal => ({ count: (before?.count ?? 0) + 1, atMs: nowMs, why });

/** When the change may be submitted again, epoch ms; each refusal lengthens the pause. */
export const refusedUntilMs = ({ count, atMs }: BalancerRefusal): number =>
  atMs + retryMs(count, null);

/** A change refused longer ago than this is no longer needed. Exceeds the longest pause. */
const FORGOTTEN_MS = 30 * 60_000;
export function forgetOld(refusals: Map<string, BalancerRefusal>, nowMs: number): void {
  for (const [key, { atMs }] of refusals) if (nowMs > atMs + FORGOTTEN_MS) refusals.delete(key);
}

/** Where an object is reached; two objects of a kind cannot share a place. */
export const placeOf = ({ address, number }: Pick<BindSpec, 'address' | 'number'>): string =>
  `${address} ${number}`;

/**
 * Removes from the leavers the objects that clients still need. A bind stays until its replacement
 * can be created, with the objects it depends on. A frontend's other binds stay until all desired
 * binds are ready.
 */
export function withoutStandIns(
  leavers: readonly Action[],
  matches: readonly Match[],
  places: ReadonlyMap<string, Match>,
): readonly Action[] {
  const late = new Set<string>();
  for (const { desired, object, parent } of matches) {
    if (desired.spec.kind === 'bind' && object?.phase !== 'ready' && parent) late.add(parent.id);
  }
  const stays = new Set<string>();
  const objects = leavers.flatMap((action) => (action.act === 'destroy' ? [action.object] : []));
  for (const { ref, spec, parentId } of objects) {
    if (spec.kind !== 'bind' || (!places.has(placeOf(spec)) && !late.has(parentId ?? ''))) continue;
    stays.add(keyOf('bind', ref.id)).add(keyOf('frontend', parentId ?? ''));
  }
  if (stays.size === 0) return leavers;
  for (const { ref, parentId } of objects) {
    const isHeld = ref.kind === 'frontend' && stays.has(keyOf('frontend', ref.id));
    if (isHeld) stays.add(keyOf('backend', parentId ?? ''));
  }
  return leavers.filter((action) => {
    if (action.act !== 'destroy') return true;
    const { ref, parentId } = action.object;
    const key = ref.kind === 'server' ? keyOf('backend', parentId ?? '') : keyOf(ref.kind, ref.id);
    return !stays.has(key);
  });
}
