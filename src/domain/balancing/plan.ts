import { machineOf } from './desired.ts';
import {
  isSameSpec,
  OBJECT_KINDS,
  PARENT_KIND,
  type Desired,
  type ObjectKind,
  type Observed,
  type Ref,
} from './objects.ts';
import { remedyOf, type Trouble } from './troubles.ts';
import type { MachineId } from '../ids.ts';

/** One thing that is to be done at a balancer. */
export type Action =
  | { readonly act: 'adopt'; readonly object: Observed }
  | { readonly act: 'create'; readonly desired: Desired; readonly parent: Ref | null }
  | {
      readonly act: 'update';
      readonly object: Observed;
      readonly desired: Desired;
      readonly parent: Ref | null;
      /** What of it is not as it should be, for people. */
      readonly why: string;
    }
  | { readonly act: 'destroy'; readonly object: Observed; readonly why: string };

/** What is done next, in this order: the first that applies. */
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
 * - `frozen`: too many servers would go at once that nobody let go: nothing is done.
 * - `dropping`: servers of machines that are no members.
 * - `recovering`: objects that failed are asked for again.
 * - `clashing`: objects that stand where another is to be.
 * - `creating`: what is missing and has its parents, what is nobody's by its tag, what differs.
 * - `waiting`: objects are not ready.
 * - `leaving`: what nobody wants, now that all that is wanted is there.
 */
export type Stage = (typeof STAGES)[number];

export interface Plan {
  readonly stage: Stage;
  /** Of this stage only, in order. */
  readonly actions: readonly Action[];
  /** Wanted objects that are not ready and are waited for; those that took too long are left out. */
  readonly unready: readonly Ref[];
  /** Everything that is known to be to do, of all stages. */
  readonly pending: { readonly create: number; readonly update: number; readonly destroy: number };
  /** Names of objects that failed so often that nothing more is tried for a while. */
  readonly shelved: readonly string[];
  /** When a failed object may be tried again, epoch ms; null: none waits for that. */
  readonly retryAtMs: number | null;
  /** Of `frozen`: whose servers would go. */
  readonly dropping: readonly MachineId[];
  /** Nothing is to do, nothing waits, nothing failed. */
  readonly isComplete: boolean;
}

export interface PlanInput {
  readonly desired: readonly Desired[];
  readonly observed: readonly Observed[];
  readonly capabilities: { readonly update: boolean };
  /** What was tried with objects that failed, by `keyOf`. */
  readonly troubles: ReadonlyMap<string, Trouble>;
  readonly nowMs: number;
  /** Machines whose servers may go: somebody let them go, one by one. */
  readonly letGo: { has(machine: MachineId): boolean };
  /** Everything may go: the pool is torn down, or an operator said so. */
  readonly mayDropAll?: boolean;
}

/** Names an object of a pool. */
export const keyOf = (kind: ObjectKind, name: string): string => `${kind} ${name}`;

interface Match {
  readonly desired: Desired;
  /** Null: there is none. */
  readonly object: Observed | null;
  /** What of the object is not as desired; null: nothing. */
  readonly why: string | null;
  /** False: its parent is not there yet. */
  readonly isParentKnown: boolean;
  readonly parent: Ref | null;
  /** Its parent is there and ready, so that it may be made. */
  readonly isDue: boolean;
}

/** Decides what is done next for one pool at one balancer. Pure and total; takes time in proportion. */
export function planOf(input: PlanInput): Plan {
  const { capabilities, troubles, nowMs, mayDropAll = false } = input;
  const matches = matchAll(input);
  const kept = new Set(matches.flatMap(({ object }) => (object ? [object] : [])));
  const sorted = sortOut(input, matches, kept);
  const recover: Action[] = [];
  const clashes: Action[] = [...sorted.clashes];
  const create: Action[] = [];
  const unready: Ref[] = [];
  let stuck = 0;
  const shelved: string[] = [];
  let retryAtMs: number | null = null;
  let isPatient = false;

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
        if (remedy.isShelved) shelved.push(object.spec.name);
      } else if (remedy.kind === 'update') {
        if (match.isParentKnown) {
          recover.push({ act: 'update', object, desired, parent, why: 'it failed' });
        }
      } else {
        const why = 'it failed, and asking for it again did not help';
        if (remedy.withChildren) clashes.push(...sorted.childrenOf(object, why));
        clashes.push({ act: 'destroy', object, why });
      }
      continue;
    }
    if (why !== null && match.isParentKnown) {
      if (capabilities.update) {
        if (isDue) create.push({ act: 'update', object, desired, parent, why });
      } else {
        clashes.push(...sorted.childrenOf(object, why), { act: 'destroy', object, why });
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
  const stages: readonly (readonly [Stage, boolean, readonly Action[]])[] = [
    ['frozen', dropping.length > 0, []],
    ['dropping', sorted.drops.length > 0, sorted.drops],
    ['recovering', recover.length > 0, recover],
    ['clashing', clashes.length > 0, childrenFirst(clashes)],
    ['creating', create.length > 0, create],
    ['waiting', unready.length > 0, []],
    ['leaving', sorted.leavers.length > 0, childrenFirst(sorted.leavers)],
  ];
  const [stage, , actions] = stages.find(([, applies]) => applies) ?? ['settled', true, []];
  return {
    stage,
    actions,
    unready,
    pending: { create: missing, update: updates, destroy: destroys },
    shelved,
    retryAtMs,
    dropping,
    isComplete: stage === 'settled' && !isPatient && missing === 0 && stuck === 0,
  };
}

/** Finds each desired object's own among those that are there, parents before children. */
function matchAll({ desired, observed, capabilities, troubles, nowMs }: PlanInput): Match[] {
  const byName = new Map<string, Observed[]>();
  for (const object of observed) {
    const key = keyOf(object.ref.kind, object.spec.name);
    const known = byName.get(key);
    if (known) known.push(object);
    else byName.set(key, [object]);
  }
  const matches: Match[] = [];
  const byPort = new Map<string, Match>();
  for (const kind of OBJECT_KINDS) {
    const parentKind = PARENT_KIND[kind];
    for (const each of desired) {
      if (each.spec.kind !== kind) continue;
      const above = parentKind && byPort.get(keyOf(parentKind, each.port));
      const over = above?.object ?? null;
      const parent = over?.ref ?? null;
      const found = byName.get(keyOf(kind, each.spec.name)) ?? [];
      const { object, why } = bestOf(found, each, parent);
      const isGoing =
        over?.phase === 'failed' &&
        remedyOf(troubles.get(keyOf(over.ref.kind, over.spec.name)), capabilities, nowMs).kind ===
          'replace';
      const isReady = over?.phase === 'ready' && !isGoing && over.tagged;
      const match: Match = {
        desired: each,
        object,
        why,
        parent,
        isParentKnown: parentKind === null || parent !== null,
        isDue: parentKind === null || isReady,
      };
      matches.push(match);
      if (kind === 'backend' || kind === 'frontend') byPort.set(keyOf(kind, each.port), match);
    }
  }
  return matches;
}

const PHASE_RANK = { ready: 0, progressing: 1, failed: 2 } as const;

/** Of those with the desired name: one that is right in all, then the readiest, then the lowest id. */
function bestOf(
  found: readonly Observed[],
  { spec }: Desired,
  parent: Ref | null,
): { readonly object: Observed | null; readonly why: string | null } {
  let best: Observed | null = null;
  let bestWhy: string | null = null;
  for (const object of found) {
    const why = differenceOf(object, spec, parent);
    if (best === null || isBetter(object, why, best, bestWhy)) [best, bestWhy] = [object, why];
  }
  return { object: best, why: bestWhy };
}

function isBetter(
  one: Observed,
  whyOne: string | null,
  other: Observed,
  whyOther: string | null,
): boolean {
  if ((whyOne === null) !== (whyOther === null)) return whyOne === null;
  const ranks = PHASE_RANK[one.phase] - PHASE_RANK[other.phase];
  return ranks === 0 ? one.ref.id < other.ref.id : ranks < 0;
}

function differenceOf(object: Observed, spec: Desired['spec'], parent: Ref | null): string | null {
  if (!isSameSpec(object.spec, spec)) return 'it is not as it should be';
  if (object.differs !== undefined) return object.differs;
  const isElsewhere = parent !== null && object.parentId !== null && object.parentId !== parent.id;
  return isElsewhere ? `it belongs to another ${parent.kind}` : null;
}

/** What is there and not kept, by what is to become of it. */
function sortOut({ observed }: PlanInput, matches: readonly Match[], kept: ReadonlySet<Observed>) {
  const keptParents = new Set<string>();
  const wantedNames = new Set<string>();
  const places = new Map<string, Match>();
  for (const match of matches) {
    const { desired, object } = match;
    const { spec } = desired;
    wantedNames.add(keyOf(spec.kind, spec.name));
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
    const isTwin = wantedNames.has(keyOf(ref.kind, spec.name));
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
    // What takes its place can be made the moment that it is gone, and not before.
    if (place?.isDue) clashes.push({ act: 'destroy', object, why: STANDS_WHERE });
    else leavers.push({ act: 'destroy', object, why: isTwin ? IS_TWIN : 'nobody wants it' });
  }
  return {
    drops,
    clashes,
    leavers,
    /** All that hangs on an object, as far down as it goes. */
    childrenOf: (parent: Observed, why: string): Action[] =>
      children(parent).map((object) => ({ act: 'destroy', object, why })),
  };
}

const STANDS_WHERE = 'it stands where another is to be';
const IS_TWIN = 'it is there twice';
const placeOf = ({ address, number }: { readonly address: string; readonly number: number }) =>
  `${address} ${number}`;

/** Tells what hangs on an object, lowest first. Sorted by parent once, when it is first asked. */
function createChildren(observed: readonly Observed[]): (parent: Observed) => Observed[] {
  let byParent: Map<string, Observed[]> | null = null;
  const sorted = () => {
    const found = new Map<string, Observed[]>();
    for (const object of observed) {
      const { ref, parentId } = object;
      const kind = PARENT_KIND[ref.kind];
      if (kind === null || parentId === null) continue;
      const key = keyOf(kind, parentId);
      const siblings = found.get(key);
      if (siblings) siblings.push(object);
      else found.set(key, [object]);
    }
    return found;
  };
  const childrenOf = ({ ref }: Observed): Observed[] => {
    byParent ??= sorted();
    const children = byParent.get(keyOf(ref.kind, ref.id)) ?? [];
    return children.flatMap((child) => [...childrenOf(child), child]);
  };
  return childrenOf;
}

const DESTROY_ORDER: readonly ObjectKind[] = ['bind', 'server', 'frontend', 'backend'];

/** Each object once, children before parents; what is adopted first of all. */
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

/** Machines whose servers would go though nobody let them go, when they are more than half of all. */
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

/** More than half of those that are there, and not just one. */
export const isTooMany = (going: number, all: number): boolean => going >= 2 && going * 2 > all;
