/**
 * The service manager that started and watches this process. No call fails or waits: what cannot be
 * sent is logged once.
 */
export interface ServiceManager {
  /**
   * True if a service manager listens. Then a start that cannot work yet may wait; a person at a
   * terminal would want an error.
   */
  readonly isThere: boolean;
  /** The watchdog ends us after this time without a sign of life; null: no watchdog. */
  readonly watchdogMs: number | null;
  /** Listening sockets that the manager passed to us: descriptors by name. */
  readonly sockets: ReadonlyMap<string, number>;
  /** The start, or a reload, is complete. */
  ready(status: string): void;
  /** Sets the one-line status for people. */
  status(text: string): void;
  /** Sends a sign of life. */
  alive(): void;
  /** A reload begins; `ready` ends it. */
  reloading(): void;
  stopping(): void;
  /** Extends a running start or stop by this time from now. */
  extend(forMs: number): void;
  /** Resolves when everything has been sent; nothing can be sent afterwards. */
  close(): Promise<void>;
}

/** No service manager: a person started the process. */
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
