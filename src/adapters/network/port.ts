import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';

export interface Address {
  /** Host as in a URL. */
  readonly host: string;
  readonly port: number;
}

/** A listening server. */
export interface Listening extends Address {
  /** Refuses new connections and closes open ones. */
  close(): Promise<void>;
}

/**
 * Replaces TCP, and TLS on it, so that a driver and its vendor's emulator can share one process and
 * its clock.
 */
export interface Network {
  /** A connection emits `connect` or `error`, as a socket does. */
  connect(to: Address): Duplex;
  /** Each connection to the address emits `connection` on the server. Port 0 takes a free port. */
  listen(server: EventEmitter, at: Address): Listening;
}
