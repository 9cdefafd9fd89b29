import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';

export interface Address {
  /** As a URL has it. */
  readonly host: string;
  readonly port: number;
}

/** A server that takes connections. */
export interface Listening extends Address {
  /** Refuses new connections and cuts the open ones. */
  close(): Promise<void>;
}

/** Stands in for TCP, and for TLS on it, so that a driver and its vendor's emulator can share one process and its time. */
export interface Network {
  /** A connection emits `connect` or `error`, as a socket does. */
  connect(to: Address): Duplex;
  /** Each connection to the address becomes a `connection` event of the server. Port 0 takes a free one. */
  listen(server: EventEmitter, at: Address): Listening;
}
