/** What describes a verb of operators; `verbs.ts` has the table. */

/**
 * How a serving machine leaves its pools. `skip`: without a wait for the balancers. `force`: even
 * below a pool's least number of active members.
 */
export const DRAIN_MODES = ['skip', 'force'] as const;
export type DrainMode = (typeof DRAIN_MODES)[number];

/** The operating system to install: see `GenericImageInstallation` of the agents' protocol. */
export interface InstallImage {
  readonly url: string;
  /** Hash of the image as stored on the disk, lower-case hexadecimal. */
  readonly sha256: string;
  readonly compression: 'none' | 'gzip' | 'zstd' | 'xz';
  /** The disk: kernel name, serial, or WWN; exactly one. */
  readonly rootDevice:
    | { readonly name: string }
    | { readonly serial: string }
    | { readonly wwn: string };
}

/**
 * A detail of a verb. Its kind defines its value: `settings/verb-details.ts` checks it,
 * `commands/verb-options.ts` reads it from options, `web/acts/details.tsx` shows its field.
 */
export type Detail = {
  /** Description in the API. */
  readonly api?: string;
  /** Description in the command line's help; absent: no option. */
  readonly cli?: string;
  /** Label on the page; absent: no field. */
  readonly page?: string;
} & (
  | {
      readonly kind: 'flag';
      /** The only verb that accepts it, if several verbs share these details. */
      readonly only?: string;
      /** What it destroys, for people. The requester needs the right to destroy. */
      readonly lost?: string;
    }
  /** One of these words. With `none`, null is allowed. */
  | {
      readonly kind: 'choice';
      readonly of: readonly [string, ...string[]];
      readonly none?: true;
      /** Said when another word is given. */
      readonly hint?: string;
    }
  /** How a machine leaves its pools; null: it waits until its balancers drain it. */
  | { readonly kind: 'drain' }
  /** Epoch ms; null: at once. */
  | { readonly kind: 'start' }
  /** Epoch ms; null: until it is removed. */
  | { readonly kind: 'end' }
  /** One line of printable text. */
  | {
      readonly kind: 'text';
      readonly max: number;
      /** On the command line: the words after the machine, joined. */
      readonly words?: { readonly name: string; readonly joint: ' ' | ',' };
    }
  /** With `none`, null is allowed. */
  | { readonly kind: 'name'; readonly none?: true }
  | { readonly kind: 'names' }
  | { readonly kind: 'image' }
);

export interface Description {
  /** The verb's subject. `slot`: with or without a machine. `scope`: the fleet, or a provider. */
  readonly of: 'machine' | 'slot' | 'scope' | 'provider' | 'pool';
  /** Work: a claim, an attempt, a permit if it interrupts. Otherwise a daemon only writes rows. */
  readonly isOrder?: true;
  /** Required care. `destroying` needs its right and `--yes`: the loss is permanent. */
  readonly care: 'plain' | 'careful' | 'destroying';
  /** Its button on the page; absent: no button among a machine's actions. */
  readonly label?: string;
  /** Description in the command line's help; absent: no command of `shepherd machine`. */
  readonly cli?: string;
  readonly help?: string;
  /** The result for a machine: "metal/a would be …". */
  readonly would?: string;
  /** What it destroys, for people. */
  readonly lost?: string;
  /** Default reason; absent: a reason is required. */
  readonly reason?: string;
  /** Verbs with the same object here share one shape of the API. */
  readonly details: Readonly<Record<string, Detail>>;
}
