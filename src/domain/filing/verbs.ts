import type { GuardVerb, PoolVerb, ProviderVerb, Verb } from '../verbs.ts';
import type { RequestedThing, RequestTarget } from './things.ts';

/** Things that may be asked of one machine. */
export type MachineVerb = Exclude<Verb, GuardVerb | PoolVerb | ProviderVerb>;

/** What is asked, without where. */
export type Wish = Asked<Extract<RequestedThing, { readonly target: RequestTarget }>>;
type Asked<T> = T extends unknown ? Omit<T, 'target'> : never;

/** The wish, on this machine. */
export const at = (wish: Wish, target: RequestTarget): RequestedThing => ({ ...wish, target });

interface Meaning {
  /** What becomes of a machine: "metal/a would be …". */
  readonly would: string;
  /** What else a person should know before it is asked for. */
  readonly warning?: string;
  /** What cannot be undone needs `--yes`. */
  readonly isDestructive?: true;
  /** It is about the slot, with or without a machine. */
  readonly isOfSlot?: true;
}

export const MEANINGS: Readonly<Record<MachineVerb, Meaning>> = {
  'restart-agent': { would: 'get its agent restarted over SSH' },
  reboot: { would: 'be rebooted by its provider' },
  reinstall: {
    would: 'be reinstalled by its provider',
    warning: 'everything on its disks is lost',
    isDestructive: true,
  },
  quarantine: { would: 'be left alone until somebody releases it' },
  release: {
    would: 'be released: its quarantine, backoffs and attempts of recovery are forgotten',
  },
  deprovision: {
    // What that means is for each provider's driver to say: `givingBackText`.
    would: 'be given back to its provider',
    isDestructive: true,
  },
  install: {
    would: 'get an operating system installed by its agent',
    warning: 'what is on the disk that is written is lost, and Shepherd lets go of the machine',
    isDestructive: true,
  },
  'cancel-install': { would: 'not be installed, unless its agent has the request already' },
  withdraw: { would: 'not get what was ordered, unless it was asked for already' },
  'clear-backoff': { would: 'be tried again at once' },
  hold: { would: 'be put under the hold', isOfSlot: true },
  unhold: { would: 'get the hold taken away', isOfSlot: true },
};
