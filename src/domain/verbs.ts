import type { MachineId, ProviderName } from './ids.ts';
import { printable } from './printable.ts';

/**
 * What operators may ask for, each verb described once. The body of the API, the row of the database, the
 * options of the command line, the form of the page, and the right that is needed derive from this table.
 * `settlement.ts` decides what becomes of a request.
 */

export const HOLD_KINDS = [
  'no-start',
  'no-recover',
  'no-allocate',
  'preserve',
  'no-serve',
] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];

export const PROVIDER_HOLD_KINDS = ['throttle', 'quota', 'capacity'] as const;
/**
 * What must not be asked of a provider for a while. `throttle`: key is the kind of call (`create`, …).
 * `quota`: key `machines`; none from `amount` on. `capacity`: key `all`, `group <group>`, `plan <plan>`.
 */
export type ProviderHoldKind = (typeof PROVIDER_HOLD_KINDS)[number];

/**
 * How a machine that serves is to leave its pools: `skip`: nobody waits for the balancers; `force`:
 * though fewer members stay active than a pool is to have.
 */
export const DRAIN_MODES = ['skip', 'force'] as const;
export type DrainMode = (typeof DRAIN_MODES)[number];

/** The operating system to install: see `GenericImageInstallation` of the agents' protocol. */
export interface InstallImage {
  readonly url: string;
  /** Of the image as it lies on the disk, lower-case hexadecimal. */
  readonly sha256: string;
  readonly compression: 'none' | 'gzip' | 'zstd' | 'xz';
  /** Which disk: kernel name, serial, or WWN; exactly one. */
  readonly rootDevice:
    | { readonly name: string }
    | { readonly serial: string }
    | { readonly wwn: string };
}

/**
 * A detail of a verb. Its kind says what its value is: `settings/verb-details.ts` checks it,
 * `commands/machine/verb-options.ts` reads it from options, `web/acts/details.tsx` has its field.
 */
export type Detail = {
  /** How the API describes it. */
  readonly api?: string;
  /** How the help of the command line describes it; absent: it is no option. */
  readonly cli?: string;
  /** Its label on the page; absent: it has no field. */
  readonly page?: string;
} & (
  | {
      readonly kind: 'flag';
      /** The only verb of those that share these details that may be asked for with it. */
      readonly only?: string;
      /** What is lost with it, for people. Who asks needs the right to destroy. */
      readonly lost?: string;
    }
  /** One of these words. With `none`, also null. */
  | { readonly kind: 'choice'; readonly of: readonly [string, ...string[]]; readonly none?: true }
  /** How a machine is to leave its pools; null: it waits until its balancers let it go. */
  | { readonly kind: 'drain' }
  /** Epoch ms; null: until it is taken away. */
  | { readonly kind: 'end' }
  /** One line of printable text. */
  | { readonly kind: 'text'; readonly max: number }
  /** With `none`, also null. */
  | { readonly kind: 'name'; readonly none?: true }
  | { readonly kind: 'names' }
  | { readonly kind: 'image' }
);

interface Description {
  /** What it is about. `slot`: also one without a machine. `scope`: the fleet, or a provider. */
  readonly of: 'machine' | 'slot' | 'scope' | 'provider' | 'pool';
  /** Work: a claim, an attempt, a permit if it interrupts. Otherwise a daemon does it by writing rows. */
  readonly isOrder?: true;
  /** How much care it asks of a person. `destroying` needs its right, and `--yes`: nothing brings back what is lost. */
  readonly care: 'plain' | 'careful' | 'destroying';
  /** Its button on the page; absent: it has none among the actions of a machine. */
  readonly label?: string;
  /** How the help of the command line describes it; absent: it is no command of `shepherd machine`. */
  readonly cli?: string;
  readonly help?: string;
  /** What becomes of a machine: "metal/a would be …". */
  readonly would?: string;
  /** What is lost, for people. */
  readonly lost?: string;
  /** The reason where none is given; absent: one must be given. */
  readonly reason?: string;
  /** Verbs with the same object here are one shape of the API. */
  readonly details: Readonly<Record<string, Detail>>;
}

const DRAIN = {
  kind: 'drain',
  api: '`skip`: its load balancers are not waited for; `force`: though few stay active.',
} as const;
const LEAVING = {
  returnToPool: {
    kind: 'flag',
    only: 'deprovision',
    api: 'Of `deprovision`: a machine may be made on its slot; no hold keeps it free.',
    cli: 'the next machine may be made on its slot at once',
    page: 'Let the next machine be made on its slot at once',
  },
  drain: DRAIN,
} as const;
const KIND = {
  kind: 'choice',
  of: HOLD_KINDS,
  cli: 'what the hold forbids',
  page: 'Kind of hold',
} as const;
const UNTIL = {
  kind: 'end',
  api: 'Null: until it is taken away.',
  cli: 'ends by itself',
  page: 'For how many hours (empty: until it is taken away)',
} as const;
const NOTHING = {} as const;
/** Of the guard. */
const SCOPE = {} as const;
const POOL = {
  pool: { kind: 'name' },
  balancer: { kind: 'name', none: true, api: 'Null: all that the pool has.' },
} as const;

const HOLD_HELP = `
no-start: no agent is started. no-recover: nothing is done when it falls silent. no-allocate: no
machine is made on the slot. preserve: it is neither reinstalled nor given back. no-serve: its load
balancers let it go, and it stays out of its pools.

A hold on a slot that is named stays when the machine on it changes. Holds of one kind on one slot
replace each other.`;

const SLOT_HELP = `
A hold no-allocate, in your name and with your reason, keeps the slot free, so that the machine is not made
(or taken in) again at once. machine unhold --kind no-allocate ends it.`;

/** In the order in which they are offered. */
export const VERBS = {
  'restart-agent': {
    of: 'machine',
    isOrder: true,
    care: 'plain',
    label: 'Restart agent',
    cli: 'start the agent anew, over SSH',
    would: 'get its agent restarted over SSH',
    details: LEAVING,
  },
  hold: {
    of: 'slot',
    care: 'plain',
    label: 'Hold',
    cli: 'forbid something to be done to it',
    help: HOLD_HELP,
    would: 'be put under the hold',
    details: {
      kind: KIND,
      untilMs: UNTIL,
      force: {
        kind: 'flag',
        api: 'Of `no-serve`: though few members stay active.',
        cli: 'of no-serve: though too few members of its pools stay active',
      },
    },
  },
  unhold: {
    of: 'slot',
    care: 'plain',
    label: 'Take hold away',
    cli: 'take a hold away',
    would: 'get the hold taken away',
    details: { kind: KIND },
  },
  'clear-backoff': {
    of: 'machine',
    care: 'plain',
    label: 'Clear backoff',
    cli: 'try again at once what failed',
    would: 'be tried again at once',
    details: NOTHING,
  },
  /** Takes back an order of which nothing was asked for yet. */
  withdraw: {
    of: 'machine',
    care: 'plain',
    label: 'Withdraw order',
    cli: 'take back what was ordered (restart-agent, reboot, reinstall) and not begun',
    would: 'not get what was ordered, unless it was asked for already',
    details: { order: { kind: 'name', none: true, api: 'Only the order of this key.' } },
  },
  /** Takes back what was not handed to the agent yet. */
  'cancel-install': {
    of: 'machine',
    care: 'plain',
    label: 'Cancel installation',
    cli: 'take an installation back that its agent was not told of yet',
    would: 'not be installed, unless its agent has the request already',
    details: NOTHING,
  },
  reboot: {
    of: 'machine',
    isOrder: true,
    care: 'careful',
    label: 'Reboot',
    cli: 'reboot it by its provider',
    would: 'be rebooted by its provider',
    details: {
      force: {
        kind: 'flag',
        api: 'Its system is not asked first.',
        cli: 'do not ask its system first',
        page: 'Without asking its system first',
      },
      drain: DRAIN,
    },
  },
  quarantine: {
    of: 'machine',
    care: 'careful',
    label: 'Quarantine',
    cli: 'leave it alone, whatever happens to it',
    would: 'be left alone until somebody releases it',
    details: { untilMs: UNTIL },
  },
  /** Ends a quarantine of any kind and the ladder's episode. */
  release: {
    of: 'machine',
    care: 'careful',
    label: 'Release',
    cli: 'end its quarantine, and forget what recovery tried',
    would: 'be released: its quarantine, backoffs and attempts of recovery are forgotten',
    details: {
      forgetHostKey: {
        kind: 'flag',
        lost: 'its pinned SSH host key is forgotten: whoever answers there next is believed',
        cli: 'its SSH host key changed for a reason that you know',
        page: 'Forget its SSH host key, too',
      },
    },
  },
  reinstall: {
    of: 'machine',
    isOrder: true,
    care: 'destroying',
    label: 'Reinstall',
    cli: 'reinstall it; its disks are lost',
    would: 'be reinstalled by its provider',
    lost: 'everything on its disks is lost',
    details: LEAVING,
  },
  install: {
    of: 'machine',
    care: 'destroying',
    label: 'Install',
    cli: 'have its agent install an operating system',
    would: 'get an operating system installed by its agent',
    lost: 'what is on the disk that is written is lost, and Shepherd lets go of the machine',
    details: { image: { kind: 'image', cli: 'the image', page: 'Image' } },
  },
  /** What is lost, each provider's driver tells: `givingBackText`. */
  deprovision: {
    of: 'machine',
    care: 'destroying',
    label: 'Deprovision',
    cli: 'give it back to its provider; its slot stays free',
    help: SLOT_HELP,
    would: 'be given back to its provider',
    details: LEAVING,
  },
  freeze: { of: 'scope', care: 'careful', details: SCOPE },
  thaw: { of: 'scope', care: 'careful', details: SCOPE },
  /** Nothing is changed at the balancer. */
  'pause-pool': { of: 'pool', care: 'careful', details: POOL },
  /** Ends a pause and a tear-down. */
  'resume-pool': { of: 'pool', care: 'careful', details: POOL },
  /** Accepts what the panic guard froze. */
  'thaw-pool': { of: 'pool', care: 'careful', details: POOL },
  'teardown-pool': {
    of: 'pool',
    care: 'destroying',
    lost: 'all of the pool is removed from its balancers',
    details: POOL,
  },
  /** Ends the holds of a kind, and takes slots (by their ids) off the shelf, before their time. */
  'clear-provider': {
    of: 'provider',
    care: 'careful',
    details: {
      hold: {
        kind: 'choice',
        of: PROVIDER_HOLD_KINDS,
        none: true,
        api: 'All holds of this kind are ended.',
      },
      shelf: { kind: 'names', api: 'Ids of slots that are taken off the shelf.' },
    },
  },
} as const satisfies Readonly<Record<string, Description>>;

type Table = typeof VERBS;
export type Verb = keyof Table;
type Which<Part> = { [V in Verb]: Table[V] extends Part ? V : never }[Verb];
export type OrderVerb = Which<{ readonly isOrder: true }>;
/** What may be asked of one machine. */
export type MachineVerb = Which<{ readonly of: 'machine' | 'slot' }>;
export type PoolVerb = Which<{ readonly of: 'pool' }>;
export type GuardVerb = Which<{ readonly of: 'scope' }>;

/** All verbs that operators may use. Newer programs may know more of them, and settle those. */
export const VERB_NAMES = Object.keys(VERBS) as readonly Verb[];
/** As the table has it, for whoever takes every verb alike. */
export const described = (verb: Verb): Description => VERBS[verb];
/** Verbs of newer programs are none of these. */
export const isVerb = (verb: string): verb is Verb => Object.hasOwn(VERBS, verb);
export const isOrder = (verb: string): verb is OrderVerb =>
  isVerb(verb) && described(verb).isOrder === true;
export const isOfMachine = (verb: string): verb is MachineVerb =>
  isVerb(verb) && ['machine', 'slot'].includes(VERBS[verb].of);
export const isOfPool = (verb: string): verb is PoolVerb =>
  isVerb(verb) && VERBS[verb].of === 'pool';
export const ORDER_VERBS = VERB_NAMES.filter(isOrder);
export const MACHINE_VERBS = VERB_NAMES.filter(isOfMachine);

/** The details that the verb may be asked for with. */
export const detailsOf = (verb: Verb): (readonly [string, Detail])[] =>
  Object.entries(described(verb).details).filter(
    ([, detail]) => detail.kind !== 'flag' || (detail.only ?? verb) === verb,
  );

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
  if (wish.verb === 'hold' && wish.force && wish.kind !== 'no-serve') {
    return `only a hold no-serve may be forced, not ${wish.kind}`;
  }
  if ('returnToPool' in wish && wish.returnToPool && wish.verb !== 'deprovision') {
    return `only what is deprovisioned returns to the pool, not by ${wish.verb}`;
  }
  if (wish.verb === 'clear-provider' && wish.hold === null && wish.shelf.length === 0) {
    return 'say what is to be cleared';
  }
  if ('pool' in wish) {
    const strange = [wish.pool, wish.balancer ?? wish.pool].find((name) => !POOL_NAME.test(name));
    if (strange !== undefined) return `"${printable(strange)}" is no name of a pool or balancer`;
  }
  return null;
}
