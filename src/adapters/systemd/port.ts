/**
 * What started this process as a service and watches over it. Telling it something never fails and never
 * waits: what cannot be told is logged once.
 */
export interface ServiceManager {
  /** Somebody is told: a start that cannot do its work yet may wait, where a person would want to know. */
  readonly isThere: boolean;
  /** It ends us after so long without a sign of life; null: it does not watch. */
  readonly watchdogMs: number | null;
  /** Listening sockets that it holds and passed on: descriptors by name. */
  readonly sockets: ReadonlyMap<string, number>;
  /** The start, or a reload, has come to its end. */
  ready(status: string): void;
  /** What people are to read of us, on one line. */
  status(text: string): void;
  /** A sign of life. */
  alive(): void;
  /** What can be read again is being read; `ready` ends it. */
  reloading(): void;
  stopping(): void;
  /** A start or stop that is under way takes so much longer, from now on. */
  extend(forMs: number): void;
  /** What was told has been passed on when it resolves; nothing can be told any more. */
  close(): Promise<void>;
}

/** Nobody watches: a process that a person started. */
export const noServiceManager: ServiceManager = {
  isThere: false,
  watchdogMs: null,
  sockets: new Map(),
  ready: () => undefined,
  status: () => undefined,
  alive: () => undefined,
  reloading: () => undefined,
  stopping: () => undefined,
  extend: () => undefined,
  close: async () => undefined,
};
