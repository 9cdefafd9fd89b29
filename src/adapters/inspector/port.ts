import type { InspectionEvent } from 'xstate';
import type { Slot } from '../../domain/ids.ts';

/** What is looked at: one machine with its work, the guard and the session; null: the supervisor and its first machines. */
export type Subject = Slot | null;

/** Gets what happens, as messages of `@statelyai/inspect` in JSON, each without a line end. */
export interface Viewer {
  message(text: string): void;
  /** So many came at once that these could not be shown. */
  dropped(count: number): void;
  /** True: it draws statecharts itself, and gets all of each. */
  readonly wantsCharts?: boolean;
}

export interface RecordingInfo {
  readonly id: string;
  readonly subject: Subject;
  /** `chosen`: it goes on until it is removed. `crashed`: an actor crashed, and this came before. */
  readonly why: 'chosen' | 'crashed';
  /** Epoch ms of this host's clock. */
  readonly beganAtMs: number;
  readonly messages: number;
  readonly bytes: number;
}

/** How a person looks at actors. Everything that is shown or kept is sanitised. */
export interface Inspector {
  /** All actors of the subject and their states, then what happens to them. @returns what ends it; null: as many look as may. */
  watch(subject: Subject, viewer: Viewer): (() => void) | null;
  recordings(): readonly RecordingInfo[];
  /** Records a machine from now on; one that is recorded goes on. Null: as many are recorded as may. */
  record(slot: Slot): RecordingInfo | null;
  /** False: there is none of this id. */
  remove(id: string): boolean;
  /** A message per line, from the oldest; null: there is none of this id. */
  read(id: string): string | null;
}

/** An inspector of these actors. */
export interface Inspection extends Inspector {
  /** For `createActor(…, { inspect })` of every root of the daemon, from its start. */
  readonly inspect: (event: InspectionEvent) => void;
  close(): void;
}
