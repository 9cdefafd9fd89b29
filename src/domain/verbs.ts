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
 * `commands/verb-options.ts` reads it from options, `web/acts/details.tsx` has its field.
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
  | {
      readonly kind: 'text';
      readonly max: number;
      /** On the command line it is the words after the machine, joined. */
      readonly words?: { readonly name: string; readonly joint: ' ' | ',' };
    }
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
    cli: 'Allow a new machine on its slot at once',
    page: 'Let the next machine be made on its slot at once',
  },
  drain: DRAIN,
} as const;
const KIND = {
  kind: 'choice',
  of: HOLD_KINDS,
  cli: 'What the hold forbids',
  page: 'Kind of hold',
} as const;
const UNTIL = {
  kind: 'end',
  api: 'Null: until it is taken away.',
  cli: 'When it ends by itself',
  page: 'For how many hours (empty: until it is taken away)',
} as const;
const FREEZE_END = {
  kind: 'end',
  api: 'When the freeze ends by itself; it must be given.',
  page: 'For how many hours (empty: until somebody thaws it)',
} as const;
const NOTHING = {} as const;
/** Of the guard. */
const SCOPE = {} as const;
const POOL = {
  pool: { kind: 'name' },
  balancer: { kind: 'name', none: true, api: 'Null: all that the pool has.' },
} as const;

const HOLD_HELP = `
Kinds of holds:
  no-start     daemons start no agent on the machine
  no-recover   daemons do nothing when the machine falls silent
  no-allocate  daemons create no machine on the slot
  preserve     the machine is neither reinstalled nor given back
  no-serve     the machine leaves its load balancer pools and stays out

A hold belongs to the slot if you name the slot: it stays when the machine on the slot changes.
A slot has one hold of each kind; a new hold replaces the old one.`;

const SLOT_HELP = `
Afterwards a hold no-allocate with your name and reason keeps the slot free, so that no daemon creates
a machine on it again. "shepherd machine unhold --kind no-allocate" ends the hold.`;

/** In the order in which they are offered. */
export const VERBS = {
  'restart-agent': {
    of: 'machine',
    isOrder: true,
    care: 'plain',
    label: 'Restart agent',
    cli: 'Restart the agent over SSH',
    would: 'get its agent restarted over SSH',
    details: LEAVING,
  },
  hold: {
    of: 'slot',
    care: 'plain',
    label: 'Hold',
    cli: 'Put a hold on a machine or slot: forbid something that daemons do',
    help: HOLD_HELP,
    would: 'be put under the hold',
    details: {
      kind: KIND,
      untilMs: UNTIL,
      force: {
        kind: 'flag',
        api: 'Of `no-serve`: though few members stay active.',
        cli: 'With no-serve: even if too few members of its pools stay active',
      },
    },
  },
  unhold: {
    of: 'slot',
    care: 'plain',
    label: 'Take hold away',
    cli: 'Remove a hold',
    would: 'get the hold taken away',
    details: { kind: KIND },
  },
  'clear-backoff': {
    of: 'machine',
    care: 'plain',
    label: 'Clear backoff',
    cli: 'Retry what failed at once instead of after its backoff',
    would: 'be tried again at once',
    details: NOTHING,
  },
  /** Takes back an order of which nothing was asked for yet. */
  withdraw: {
    of: 'machine',
    care: 'plain',
    label: 'Withdraw order',
    cli: 'Withdraw an order (restart-agent, reboot, reinstall) that no daemon has begun',
    would: 'not get what was ordered, unless it was asked for already',
    details: { order: { kind: 'name', none: true, api: 'Only the order of this key.' } },
  },
  /** Takes back what was not handed to the agent yet. */
  'cancel-install': {
    of: 'machine',
    care: 'plain',
    label: 'Cancel installation',
    cli: 'Cancel an installation that the agent has not received yet',
    would: 'not be installed, unless its agent has the request already',
    details: NOTHING,
  },
  /** Changes nothing: it is a line of the history. */
  note: {
    of: 'slot',
    care: 'plain',
    label: 'Note',
    cli: 'Add a remark to the history of a machine',
    would: 'get the remark in its history',
    reason: 'a note',
    details: {
      text: {
        kind: 'text',
        max: 500,
        words: { name: 'text', joint: ' ' },
        api: 'The remark: one line of printable text.',
        cli: 'The remark: one line of printable text',
        page: 'Remark',
      },
    },
  },
  label: {
    of: 'machine',
    care: 'plain',
    label: 'Label',
    cli: 'Set or remove labels of a machine',
    would: 'get its labels changed',
    reason: 'labels',
    details: {
      set: {
        kind: 'text',
        max: 2_000,
        words: { name: 'key=value', joint: ',' },
        api: 'Changes with commas between: `rack=b4` sets a label, `team-` removes one.',
        cli: '"rack=b4" sets a label, "team-" removes a label',
        page: 'Labels, such as rack=b4,team-',
      },
    },
  },
  reboot: {
    of: 'machine',
    isOrder: true,
    care: 'careful',
    label: 'Reboot',
    cli: 'Reboot a machine through its provider',
    would: 'be rebooted by its provider',
    details: {
      force: {
        kind: 'flag',
        api: 'Its system is not asked first.',
        cli: 'Do not ask the operating system to shut down first',
        page: 'Without asking its system first',
      },
      drain: DRAIN,
    },
  },
  quarantine: {
    of: 'machine',
    care: 'careful',
    label: 'Quarantine',
    cli: 'Quarantine a machine: daemons leave it alone, whatever happens to it',
    would: 'be left alone until somebody releases it',
    details: { untilMs: UNTIL },
  },
  /** Ends a quarantine of any kind and the ladder's episode. */
  release: {
    of: 'machine',
    care: 'careful',
    label: 'Release',
    cli: 'End a quarantine, and forget the recovery attempts so far',
    would: 'be released: its quarantine, backoffs and attempts of recovery are forgotten',
    details: {
      forgetHostKey: {
        kind: 'flag',
        lost: 'its pinned SSH host key is forgotten: whoever answers there next is believed',
        cli: 'Also forget the pinned SSH host key, because you know why the key changed',
        page: 'Forget its SSH host key, too',
      },
    },
  },
  reinstall: {
    of: 'machine',
    isOrder: true,
    care: 'destroying',
    label: 'Reinstall',
    cli: 'Reinstall a machine. All data on its disks is lost',
    would: 'be reinstalled by its provider',
    lost: 'everything on its disks is lost',
    details: LEAVING,
  },
  install: {
    of: 'machine',
    care: 'destroying',
    label: 'Install',
    cli: 'Let the agent install an operating system; Shepherd then lets go of the machine',
    would: 'get an operating system installed by its agent',
    lost: 'what is on the disk that is written is lost, and Shepherd lets go of the machine',
    details: { image: { kind: 'image', cli: 'The image', page: 'Image' } },
  },
  /** What is lost, each provider's driver tells: `givingBackText`. */
  deprovision: {
    of: 'machine',
    care: 'destroying',
    label: 'Deprovision',
    cli: 'Give a machine back to its provider. Its slot stays free',
    help: SLOT_HELP,
    would: 'be given back to its provider',
    details: LEAVING,
  },
  freeze: { of: 'scope', care: 'careful', details: SCOPE },
  /**
   * A freeze that ends by itself. It is a verb of its own because a daemon of the version before would
   * ignore a new detail of `freeze` and freeze without an end. It leaves a verb that it does not know open.
   */
  'freeze-until': { of: 'scope', care: 'careful', details: { untilMs: FREEZE_END } },
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

export type Table = typeof VERBS;
export type Verb = keyof Table;
type Which<Part> = { [V in Verb]: Table[V] extends Part ? V : never }[Verb];
export type OrderVerb = Which<{ readonly isOrder: true }>;
/** What may be asked of one machine. */
export type MachineVerb = Which<{ readonly of: 'machine' | 'slot' }>;
export type PoolVerb = Which<{ readonly of: 'pool' }>;
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
export const isOfScope = (verb: string): boolean => isVerb(verb) && VERBS[verb].of === 'scope';
export const ORDER_VERBS = VERB_NAMES.filter(isOrder);
export const MACHINE_VERBS = VERB_NAMES.filter(isOfMachine);

/** The details that the verb may be asked for with. */
export const detailsOf = (verb: Verb): (readonly [string, Detail])[] =>
  Object.entries(described(verb).details).filter(
    ([, detail]) => detail.kind !== 'flag' || (detail.only ?? verb) === verb,
  );
