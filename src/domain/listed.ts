import type { LadderMeans } from './recovery/rungs.ts';

/** An entry of a listing that cannot be parsed: it exists, and nothing else is known. */
export interface UnreadableEntry {
  /** Null: the entry is free capacity, or even its id is unreadable. */
  readonly id: string | null;
  readonly reservationId: string | null;
  /** The fault, for people. */
  readonly fault: string;
}

/** A secret that is read only when it is used, and that never prints itself. */
export interface HeldSecret {
  read(): string;
}

/** A computer of its own that switches machines (a BMC). Several machines may share it. */
export interface Controller {
  /** The provider's name for it, 1–128 printable characters. */
  readonly id: string;
  /** It has accepted connections without a reply for too long to recover by itself. */
  readonly hangs: boolean;
}

/** What a provider can do, but not to this machine: there a driver refuses it. */
export interface LackedMeans {
  /** Absent: nothing is lacking. */
  readonly lacks?: readonly (keyof LadderMeans)[];
}
