import type { MachineId, ProviderName } from './ids.ts';
import { readLabelChange } from './labels.ts';
import { printable } from '../lib/texts.ts';
import { described, detailsOf, VERBS } from './verbs.ts';
import type { Detail, DrainMode, InstallImage, MachineVerb, Table, Verb } from './verbs.ts';

/** An operator request: a verb with its details, and its subject. */

type OrNull<D> = D extends { readonly none: true } ? null : never;
type DetailValue<D> = D extends { readonly kind: 'choice'; readonly of: readonly (infer Word)[] }
  ? Word | OrNull<D>
  : D extends { readonly kind: 'flag' }
    ? boolean
    : D extends { readonly kind: 'drain' }
      ? DrainMode | null
      : D extends { readonly kind: 'start' | 'end' }
        ? number | null
        : D extends { readonly kind: 'names' }
          ? readonly string[]
          : D extends { readonly kind: 'image' }
            ? InstallImage
            : string | OrNull<D>;
/** Details with a default value. */
type Spared =
  | { readonly kind: 'flag' | 'drain' | 'start' | 'end' | 'names' }
  | { readonly none: true };
type Needed<D> = { [Name in keyof D]: D[Name] extends Spared ? never : Name }[keyof D];
type Values<D> = { readonly [Name in keyof D]: DetailValue<D[Name]> };

/** An operator request without its subject: the verb with all of its details. */
export type OperatorRequest<V extends Verb = Verb> = {
  [Name in V]: { readonly verb: Name } & Values<Table[Name]['details']>;
}[V];
/** The request as submitted: details with a default may be absent. */
export type GivenRequest<V extends Verb = Verb> = {
  [Name in V]: { readonly verb: Name } & Partial<Values<Table[Name]['details']>> &
    Pick<Values<Table[Name]['details']>, Needed<Table[Name]['details']>>;
}[V];

const absentValue = ({ kind }: Detail) => (kind === 'flag' ? false : kind === 'names' ? [] : null);

/** Completes the request's details; drops everything else. */
export function wishOf<V extends Verb>(given: GivenRequest<V>): OperatorRequest<V> {
  const { verb, ...values }: { readonly verb: V } & Readonly<Record<string, unknown>> = given;
  const details = Object.entries(described(verb).details).map(
    ([name, detail]) => [name, values[name] ?? absentValue(detail)] as const,
  );
  return { verb, ...Object.fromEntries(details) } as OperatorRequest<V>;
}

/** `slot` is where the request applies. `machineId`, if given, must still be on it then. */
export interface RequestTarget {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Null: whatever is on the slot, or nothing. Only verbs for slots allow null. */
  readonly machineId: MachineId | null;
}

interface Subjects {
  readonly machine: { readonly target: RequestTarget };
  readonly slot: { readonly target: RequestTarget };
  readonly scope: { readonly scope: 'fleet' | ProviderName };
  readonly provider: { readonly provider: ProviderName };
  readonly pool: unknown;
}

/** An operator request with its subject. */
export type RequestedThing<V extends Verb = Verb> = {
  [Name in V]: GivenRequest<Name> & Subjects[Table[Name]['of']];
}[V];
/** Requests that concern no machine: the guard, a pool, or a whole provider. */
export type ThingAtLarge = RequestedThing<Exclude<Verb, MachineVerb>>;

/** The request for this machine. */
export const at = (wish: GivenRequest<MachineVerb>, target: RequestTarget): RequestedThing => ({
  ...wish,
  target,
});

/** Whether the request destroys something irrecoverable. */
export const isDestroying = (wish: GivenRequest): boolean =>
  VERBS[wish.verb].care === 'destroying' || lossByFlag(wish) !== null;

/** What the request's options destroy, for people; null: nothing. */
function lossByFlag(wish: GivenRequest): string | null {
  const values: Readonly<Record<string, unknown>> = wish;
  for (const [name, detail] of detailsOf(wish.verb)) {
    if (detail.kind === 'flag' && detail.lost !== undefined && values[name]) return detail.lost;
  }
  return null;
}

/** What the request destroys, for people; null: nothing irrecoverable. */
export const lossOf = (wish: GivenRequest): string | null =>
  lossByFlag(wish) ?? described(wish.verb).lost ?? null;

/** Names of pools and balancers. */
const POOL_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/i;
/** Largest time that a date can represent. */
const TIME_MAX_MS = 8_640_000_000_000_000;

/** Why these details are invalid, for people; null: they are valid. */
export function misfitOf(wish: OperatorRequest): string | null {
  const times = [
    'untilMs' in wish ? wish.untilMs : null,
    wish.verb === 'hold' ? wish.fromMs : null,
  ];
  const noTime = times.find((atMs) => Math.abs(atMs ?? 0) > TIME_MAX_MS);
  if (noTime !== undefined) return `${noTime} is no time`;
  if (wish.verb === 'hold' && (wish.fromMs ?? -Infinity) >= (wish.untilMs ?? Infinity)) {
    return 'it ends before it begins: untilMs must be later than fromMs';
  }
  if (wish.verb === 'freeze-until' && wish.untilMs === null) {
    return 'say when the freeze ends: untilMs';
  }
  if (wish.verb === 'hold' && wish.force && wish.kind !== 'no-serve') {
    return `only a hold no-serve may be forced, not ${wish.kind}`;
  }
  if ('returnToPool' in wish && wish.returnToPool && wish.verb !== 'deprovision') {
    return `only deprovision returns a slot to the pool, not ${wish.verb}`;
  }
  if (wish.verb === 'label') {
    const change = readLabelChange(wish.set);
    if (typeof change === 'string') return change;
  }
  if (wish.verb === 'clear-provider' && wish.hold === null && wish.shelf.length === 0) {
    return 'say what to clear';
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
