import type { InspectionEvent } from 'xstate';
import type { Slot } from '../../domain/ids.ts';

/**
 * Whose actors are shown: one machine with its work, the guard and the session. Null: the
 * supervisor and its first machines.
 */
export type Subject = Slot | null;

/** Lets people watch actors. All secrets are hidden. */
export interface Inspector {
  /**
   * Sends each actor of the subject with its state, then its changes. Each text is a message of
   * `@statelyai/inspect` in JSON, or `{"type":"shepherd.dropped","count":…}` after a burst that was
   * too large.
   * @returns a function that ends the stream; null if the maximum number of watchers is reached.
   */
  watch(subject: Subject, tell: (text: string) => void): (() => void) | null;
}

/** An inspector that receives a daemon's inspection events. */
export interface Inspection extends Inspector {
  /** For `createActor(…, { inspect })` of every root of the daemon, from its start. */
  readonly inspect: (event: InspectionEvent) => void;
  close(): void;
}
