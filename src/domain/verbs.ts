/**
 * The operators' verbs, each described once. The API's body, the database row, the command line's
 * options, the page's form, and the required right derive from this table. `request-outcome.ts` decides
 * the result of a request.
 */

import type { Description, Detail } from './verb-detail.ts';

export { DRAIN_MODES } from './verb-detail.ts';
export type { Detail, DrainMode, InstallImage } from './verb-detail.ts';

/** Kinds of holds that `hold` sets and `unhold` removes. */
export const SETTABLE_HOLDS = [
  'no-start',
  'no-recover',
  'no-allocate',
  'preserve',
  'no-serve',
] as const;
export type SettableHold = (typeof SETTABLE_HOLDS)[number];
/** `retired` is set by `retire` and by the ladder, and removed by `unretire`. */
export const HOLD_KINDS = [...SETTABLE_HOLDS, 'retired'] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];

export const PROVIDER_HOLD_KINDS = ['throttle', 'quota', 'capacity'] as const;
/**
 * Calls of a provider that must wait. `throttle`: the key is the kind of call (`create`, …).
 * `quota`: key `machines`; no creation from `amount` on. `capacity`: key `all`, `group <group>`,
 * `plan <plan>`.
 */
export type ProviderHoldKind = (typeof PROVIDER_HOLD_KINDS)[number];

const DRAIN = {
  kind: 'drain',
  api: '`skip`: without waiting for its load balancers. `force`: even if too few members stay active.',
} as const;
const LEAVING = {
  returnToPool: {
    kind: 'flag',
    only: 'deprovision',
    api: 'For `deprovision`: a new machine may be created on the slot; no hold keeps it free.',
    cli: 'Allow a new machine on its slot at once',
    page: 'Allow the next machine on its slot at once',
  },
  drain: DRAIN,
} as const;
const KIND = {
  kind: 'choice',
  of: SETTABLE_HOLDS,
  hint: 'if it is retired, unretire it',
  cli: 'What the hold forbids',
  page: 'Kind of hold',
} as const;
const FROM = {
  kind: 'start',
  api: 'Begin of the effect. Null: at once.',
  cli: 'When it begins',
  page: 'Begins in hours (empty: at once)',
} as const;
const UNTIL = {
  kind: 'end',
  api: 'End of the effect. Null: until it is removed.',
  cli: 'When it ends by itself',
  page: 'Hours (empty: until removed)',
} as const;
const FREEZE_END = {
  kind: 'end',
  api: 'When the freeze ends by itself. Required.',
  page: 'Hours (empty: until somebody thaws it)',
} as const;
const NOTHING = {} as const;
/** Details of guard verbs. */
const SCOPE = {} as const;
const POOL = {
  pool: { kind: 'name' },
  balancer: { kind: 'name', none: true, api: 'Null: all balancers of the pool.' },
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

const RETIRE_HELP = `
The machine leaves its pools and is quarantined. It is kept as it is, or given back if its provider is
configured with "retired: give-back"; a hold preserve always keeps it.`;

const ACCEPT_HELP = `
The agent compares memory, processors, disks and network with the profile of the provider, or else with
the last accepted inventory. A machine that serves keeps serving meanwhile.`;

/** In display order. */
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
    cli: 'Put a hold on a machine or slot: forbid a kind of work',
    help: HOLD_HELP,
    would: 'be put under the hold',
    details: {
      kind: KIND,
      fromMs: FROM,
      untilMs: UNTIL,
      force: {
        kind: 'flag',
        api: 'For `no-serve`: even if too few members stay active.',
        cli: 'With no-serve: even if too few members of its pools stay active',
      },
    },
  },
  unhold: {
    of: 'slot',
    care: 'plain',
    label: 'Remove hold',
    cli: 'Remove a hold',
    would: 'lose the hold',
    details: { kind: KIND },
  },
  'clear-backoff': {
    of: 'machine',
    care: 'plain',
    label: 'Clear backoff',
    cli: 'Retry failed work at once instead of after its backoff',
    would: 'be tried again at once',
    details: NOTHING,
  },
  /** Withdraws an order before its first request. */
  withdraw: {
    of: 'machine',
    care: 'plain',
    label: 'Withdraw order',
    cli: 'Withdraw an order (restart-agent, reboot, reinstall) that no daemon has begun',
    would: 'not get the ordered work, unless it was requested already',
    details: {
      order: {
        kind: 'name',
        none: true,
        api: 'Withdraw only the order with this key. Null: any open order.',
      },
    },
  },
  /** Withdraws an installation before the agent receives it. */
  'cancel-install': {
    of: 'machine',
    care: 'plain',
    label: 'Cancel installation',
    cli: 'Cancel an installation that the agent has not received yet',
    would: 'not be installed, unless its agent has the request already',
    details: NOTHING,
  },
  /** Changes nothing: adds a line to the history. */
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
        api: 'Comma-separated changes: `rack=b4` sets a label, `team-` removes one.',
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
    would: 'be rebooted through its provider',
    details: {
      force: {
        kind: 'flag',
        api: 'Reboot without asking the operating system first.',
        cli: 'Do not ask the operating system to shut down first',
        page: 'Without asking the operating system first',
      },
      drain: DRAIN,
    },
  },
  quarantine: {
    of: 'machine',
    care: 'careful',
    label: 'Quarantine',
    cli: 'Quarantine a machine: Shepherd leaves it alone until it is released or its end comes',
    would: 'be left alone until it is released, or until the end that you give',
    details: { untilMs: UNTIL },
  },
  /** Ends a quarantine of any kind, and the ladder's episode. */
  release: {
    of: 'machine',
    care: 'careful',
    label: 'Release',
    cli: 'End a quarantine, and forget the recovery attempts so far',
    would: 'be released: its quarantine, backoffs and attempts of recovery are forgotten',
    details: {
      forgetHostKey: {
        kind: 'flag',
        lost: 'the pinned SSH host key is forgotten: the next host at its address is trusted',
        cli: 'Also forget the pinned SSH host key, because you know why the key changed',
        page: 'Also forget the SSH host key',
      },
    },
  },
  retire: {
    of: 'slot',
    care: 'careful',
    label: 'Retire',
    cli: 'Take a machine out of service for good: its slot is never used again until unretire',
    help: RETIRE_HELP,
    would: 'be retired: no daemon works on it or uses its slot again',
    details: {
      giveBack: {
        kind: 'flag',
        api: 'The machine is also given back. Always so if its provider is configured with `retired: give-back`.',
        lost: 'the machine is given back to its provider, once its pools have drained it',
      },
    },
  },
  unretire: {
    of: 'slot',
    care: 'careful',
    label: 'Unretire',
    cli: 'Use a retired machine or slot again',
    would: 'be used again; its counted recoveries are forgotten',
    details: NOTHING,
  },
  accept: {
    of: 'machine',
    care: 'plain',
    label: 'Accept',
    cli: 'Let the agent check a machine again before it serves',
    help: ACCEPT_HELP,
    would: 'be checked by its agent',
    details: NOTHING,
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
    cli: 'Let the agent install an operating system. Shepherd then stops managing the machine',
    would: 'get an operating system installed by its agent',
    lost: 'the written disk loses its data, and Shepherd stops managing the machine',
    details: { image: { kind: 'image', cli: 'The image', page: 'Image' } },
  },
  /** The provider's driver says what is destroyed: `givingBackText`. */
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
   * A freeze that ends by itself. A daemon of the previous version would ignore a new detail of
   * `freeze` and freeze without an end. It leaves an unknown verb open.
   */
  'freeze-until': { of: 'scope', care: 'careful', details: { untilMs: FREEZE_END } },
  thaw: { of: 'scope', care: 'careful', details: SCOPE },
  /** Stops changes at the balancer. */
  'pause-pool': { of: 'pool', care: 'careful', details: POOL },
  /** Ends a pause and a tear-down. */
  'resume-pool': { of: 'pool', care: 'careful', details: POOL },
  /** Accepts the panic guard's finding. */
  'thaw-pool': { of: 'pool', care: 'careful', details: POOL },
  'teardown-pool': {
    of: 'pool',
    care: 'destroying',
    lost: 'all of the pool is removed from its balancers',
    details: POOL,
  },
  /** Ends the holds of a kind and the penalties of slots (by their ids) early. */
  'clear-provider': {
    of: 'provider',
    care: 'careful',
    details: {
      hold: {
        kind: 'choice',
        of: PROVIDER_HOLD_KINDS,
        none: true,
        api: 'End all holds of this kind.',
      },
      shelf: { kind: 'names', api: 'Ids of slots whose cooldown ends early.' },
    },
  },
} as const satisfies Readonly<Record<string, Description>>;

export type Table = typeof VERBS;
export type Verb = keyof Table;
type Which<Part> = { [V in Verb]: Table[V] extends Part ? V : never }[Verb];
export type OrderVerb = Which<{ readonly isOrder: true }>;
/** Verbs for one machine. */
export type MachineVerb = Which<{ readonly of: 'machine' | 'slot' }>;
export type PoolVerb = Which<{ readonly of: 'pool' }>;
/** All operators' verbs of this program. Newer programs may know more, and apply those. */
export const VERB_NAMES = Object.keys(VERBS) as readonly Verb[];
/** The table's entry, with one type for all verbs. */
export const described = (verb: Verb): Description => VERBS[verb];
/** False for verbs of newer programs. */
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

/** The details that the verb accepts. */
export const detailsOf = (verb: Verb): (readonly [string, Detail])[] =>
  Object.entries(described(verb).details).filter(
    ([, detail]) => detail.kind !== 'flag' || (detail.only ?? verb) === verb,
  );
