import type { MachineId, ProviderName } from './ids.ts';
import { readLabelChange } from './labels.ts';
import { printable } from '../lib/texts.ts';
import { described, detailsOf, VERBS } from './verbs.ts';
import type { Detail, DrainMode, InstallImage, MachineVerb, Table, Verb } from './verbs.ts';

/** What somebody asks for: a verb with its details, and of what. */

type OrNull<D> = D extends { readonly none: true } ? null : never;
type ValueOf<D> = D extends { readonly kind: 'choice'; readonly of: readonly (infer Word)[] }
  ? Word | OrNull<D>
  : D extends { readonly kind: 'flag' }
    ? boolean
    : D extends { readonly kind: 'drain' }
      ? DrainMode | null
      : D extends { readonly kind: 'end' }
        ? number | null
        : D extends { readonly kind: 'names' }
          ? readonly string[]
          : D extends { readonly kind: 'image' }
            ? InstallImage
            : string | OrNull<D>;
/** Has a value also when none is given. */
type Spared = { readonly kind: 'flag' | 'drain' | 'end' | 'names' } | { readonly none: true };
type Needed<D> = { [Name in keyof D]: D[Name] extends Spared ? never : Name }[keyof D];
type Values<D> = { readonly [Name in keyof D]: ValueOf<D[Name]> };

/** What is asked, without of what: the verb with all of its details. */
export type Wish<V extends Verb = Verb> = {
  [Name in V]: { readonly verb: Name } & Values<Table[Name]['details']>;
}[V];
/** The same as it is given: details that have a value anyway may be absent. */
export type Given<V extends Verb = Verb> = {
  [Name in V]: { readonly verb: Name } & Partial<Values<Table[Name]['details']>> &
    Pick<Values<Table[Name]['details']>, Needed<Table[Name]['details']>>;
}[V];

const absentValue = ({ kind }: Detail) => (kind === 'flag' ? false : kind === 'names' ? [] : null);

/** The wish with all details. Whatever else was given is left out. */
export function wishOf<V extends Verb>(given: Given<V>): Wish<V> {
  const { verb, ...values }: { readonly verb: V } & Readonly<Record<string, unknown>> = given;
  const details = Object.entries(described(verb).details).map(
    ([name, detail]) => [name, values[name] ?? absentValue(detail)] as const,
  );
  return { verb, ...Object.fromEntries(details) } as Wish<V>;
}

/** `slot` is where it is to be done; `machineId` must be on it when it is done, if it is given. */
export interface RequestTarget {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Null: whatever is on the slot, also nothing. Verbs that are not of slots need one. */
  readonly machineId: MachineId | null;
}

interface Subjects {
  readonly machine: { readonly target: RequestTarget };
  readonly slot: { readonly target: RequestTarget };
  readonly scope: { readonly scope: 'fleet' | ProviderName };
  readonly provider: { readonly provider: ProviderName };
  readonly pool: unknown;
}

/** What is asked, and of what. */
export type RequestedThing<V extends Verb = Verb> = {
  [Name in V]: Given<Name> & Subjects[Table[Name]['of']];
}[V];
/** What is about no machine: the guard, a pool, or a provider as a whole. */
export type ThingAtLarge = RequestedThing<Exclude<Verb, MachineVerb>>;

/** The wish, on this machine. */
export const at = (wish: Given<MachineVerb>, target: RequestTarget): RequestedThing => ({
  ...wish,
  target,
});

/** Whether it erases or gives up what nobody can have back. */
export const isDestroying = (wish: Given): boolean =>
  VERBS[wish.verb].care === 'destroying' || lossByFlag(wish) !== null;

/** What is lost by what the wish was given with, for people; null: nothing. */
function lossByFlag(wish: Given): string | null {
  const values: Readonly<Record<string, unknown>> = wish;
  for (const [name, detail] of detailsOf(wish.verb)) {
    if (detail.kind === 'flag' && detail.lost !== undefined && values[name]) return detail.lost;
  }
  return null;
}

/** What is lost when it is done, for people; null: nothing that could not be had back. */
export const lossOf = (wish: Given): string | null =>
  lossByFlag(wish) ?? described(wish.verb).lost ?? null;

/** Of pools and balancers. */
const POOL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/i;
/** Times that there is a date for. */
const TIME_MAX_MS = 8_640_000_000_000_000;

/** Why these details make no sense, for people; null: they do. */
export function misfitOf(wish: Wish): string | null {
  if ('untilMs' in wish && Math.abs(wish.untilMs ?? 0) > TIME_MAX_MS) {
    return `${wish.untilMs} is no time`;
  }
  if (wish.verb === 'freeze-until' && wish.untilMs === null) {
    return 'say when the freeze ends: untilMs';
  }
  if (wish.verb === 'hold' && wish.force && wish.kind !== 'no-serve') {
    return `only a hold no-serve may be forced, not ${wish.kind}`;
  }
  if ('returnToPool' in wish && wish.returnToPool && wish.verb !== 'deprovision') {
    return `only what is deprovisioned returns to the pool, not by ${wish.verb}`;
  }
  if (wish.verb === 'label') {
    const change = readLabelChange(wish.set);
    if (typeof change === 'string') return change;
  }
  if (wish.verb === 'clear-provider' && wish.hold === null && wish.shelf.length === 0) {
    return 'say what is to be cleared';
  }
  if ('pool' in wish) {
    const { pool, balancer } = wish;
    if (!POOL_NAME.test(pool)) return `"${printable(pool)}" is no name of a pool`;
    if (balancer !== null && !POOL_NAME.test(balancer)) {
      return `"${printable(balancer)}" is no name of a balancer`;
    }
  }
  return null;
}
