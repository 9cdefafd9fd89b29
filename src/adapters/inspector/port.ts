import type { InspectionEvent } from 'xstate';
import type { Slot } from '../../domain/ids.ts';

/** Whose actors are shown: one machine with its work, the guard and the session; null: the supervisor and its first machines. */
export type Subject = Slot | null;

/** How people look at actors. Secrets are hidden in everything that is told. */
export interface Inspector {
  /**
   * Tells each actor of the subject and its state, then what happens to them. Each text is a message of
   * `@statelyai/inspect` in JSON, or `{"type":"shepherd.dropped","count":…}` after a burst that was too large.
   * @returns ends the stream; null: as many people look as may.
   */
  watch(subject: Subject, tell: (text: string) => void): (() => void) | null;
}

/** An inspector of the actors that it is told of. */
export interface Inspection extends Inspector {
  /** For `createActor(…, { inspect })` of every root of the daemon, from its start. */
  readonly inspect: (event: InspectionEvent) => void;
  close(): void;
}
