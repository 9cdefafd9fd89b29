import type { EmulatorClock } from '../kit/clock.ts';
import type { KnobValues } from './api.ts';
import type { Generator } from '../kit/random.ts';
import { type ObjectKind, KINDS, LINKS, STATES } from './kinds.ts';

/** Something that the Engine knows. There are no timers: its state follows from the time. */
export interface Thing {
  readonly id: string;
  /** Null: a kind that only the list of resources shows. */
  readonly kind: ObjectKind | 'loadbalancer' | null;
  readonly typeId: string | null;
  readonly name: string;
  fields: Readonly<Record<string, unknown>>;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /** Infinity while it exists. */
  destroyedAtMs: number;
  readonly tags: { readonly name: string; readonly atMs: number; removedAtMs: number }[];
  /** The present deployment: its initial state, end and result. */
  deployment: { readonly during: string; readonly endsAtMs: number; readonly after: string };
  /** Number of further deployments that fail. */
  failures: number;
  /** State set by hand; undefined: none; null: it shows no state. */
  forcedState: string | null | undefined;
}

/** What all routes share. */
export interface EngineCore {
  readonly world: EngineWorld;
  readonly clock: EmulatorClock;
  /** The object keeps its identity. */
  readonly knobs: KnobValues;
  readonly stateDelayMs: number;
}

export interface EngineWorld {
  readonly things: Map<string, Thing>;
  readonly now: () => number;
  readonly ids: Generator;
}

/** How the next deployment of an object ends. */
export interface Doom {
  /** Creates two objects. */
  readonly twin?: boolean;
  readonly neverDeploys?: boolean;
  readonly failures?: number;
}

/** Deleted objects are kept this long, for lists that lag. */
const REMEMBERED_MS = 10 * 60_000;

export function addThing(
  { things, now, ids }: EngineWorld,
  one: Pick<Thing, 'kind' | 'typeId' | 'name' | 'fields'>,
  { stateDelayMs, doom = {} }: { readonly stateDelayMs: number; readonly doom?: Doom },
): Thing {
  const failures = doom.failures ?? 0;
  const thing: Thing = {
    ...one,
    id: ids.hex(32),
    createdAtMs: now(),
    updatedAtMs: now(),
    destroyedAtMs: Infinity,
    tags: [],
    deployment: {
      during: '4',
      endsAtMs: doom.neverDeploys ? Infinity : now() + stateDelayMs,
      after: failures > 0 ? '2' : '3',
    },
    failures: Math.max(0, failures - 1),
    forcedState: undefined,
  };
  things.set(thing.id, thing);
  return thing;
}

export function changeThing(
  { now }: EngineWorld,
  thing: Thing,
  fields: Thing['fields'],
  stateDelayMs: number,
): void {
  thing.fields = fields;
  thing.updatedAtMs = now();
  thing.forcedState = undefined;
  const after = thing.failures > 0 ? '2' : '1';
  thing.failures = Math.max(0, thing.failures - 1);
  thing.deployment = { during: '0', endsAtMs: now() + stateDelayMs, after };
}

export function destroyThing({ things, now }: EngineWorld, thing: Thing): void {
  thing.destroyedAtMs = now();
  for (const [id, one] of things) {
    if (one.destroyedAtMs + REMEMBERED_MS < now()) things.delete(id);
  }
}

/** Null: it shows no state. */
export function stateOf(
  thing: Pick<Thing, 'forcedState' | 'deployment'>,
  nowMs: number,
): string | null {
  if (thing.forcedState !== undefined) return thing.forcedState;
  const { during, endsAtMs, after } = thing.deployment;
  return nowMs < endsAtMs ? during : after;
}

export const titleOf = (state: string): string => STATES[state]?.title ?? `State${state}`;

export const isThere = (thing: Thing, atMs: number): boolean =>
  thing.createdAtMs <= atMs && thing.destroyedAtMs > atMs;

/** Its tags at a time. */
export const tagsAt = (thing: Pick<Thing, 'tags'>, atMs: number): string[] =>
  thing.tags.filter((tag) => tag.atMs <= atMs && tag.removedAtMs > atMs).map(({ name }) => name);

/** Whether another object refers to it. */
export const isReferred = ({ things, now }: EngineWorld, { id }: Thing): boolean =>
  [...things.values()].some(
    (one) =>
      isThere(one, now()) &&
      KINDS.some((kind) => one.kind === kind) &&
      Object.keys(LINKS[one.kind as ObjectKind]).some((field) => one.fields[field] === id),
  );
