import type { ProviderName } from '../../domain/ids.ts';
import type { NewEvent } from '../../domain/events/fleet-event.ts';
import type { Json, ProviderRecord } from '../../domain/provisioning/records.ts';
import type { Clock, Random } from '../clock/port.ts';
import type { Network } from '../network/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import type { DriverShell } from './driver-shell.ts';
import type { CallOptions } from './port.ts';

/** What a driver is given besides its settings. */
export interface DriverContext {
  /** Name of the configured provider, for messages. */
  readonly name: ProviderName;
  /** `xxxxx-xxxxx-xxxxxxxxxxxxxxx`: marks what is ours, as the value of `SET_ID_TAG`. */
  readonly instanceSetId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** OpenSSH line of the key that new machines let in. May change: it is read when it is needed. */
  readonly publicKey: string;
  /** OpenSSH lines of our earlier keys, which may be replaced at a vendor. May change, too. */
  readonly previousKeys?: readonly string[];
  /** What it keeps in the BMDB, for a vendor that has no field for tags. */
  readonly records: Records;
  /** To machines that it installs itself. */
  readonly shell: DriverShell;
  /** For HTTP. */
  readonly userAgent: string;
  /** How it reaches others; TCP and TLS if absent. */
  readonly network?: Network | undefined;
  /** Live daemons that share the provider's call budget; at least 1. */
  daemons(): number;
  /** Writes an event about a change at the vendor; absent where nobody reads events. Never throws. */
  tellEvent?(event: Pick<NewEvent, 'type' | 'reason' | 'details'>): void;
  /** For a driver with a queue of its own: a request of a call begins to wait, which costs nothing. */
  waitsForTurn?(): TurnWait;
}

export interface TurnWait {
  /** It goes before others: the call gives something back. */
  readonly urgent: boolean;
  /** The turn has come. */
  end(): void;
}

/**
 * The rows of one configured provider: marks, and the memory of changes that are under way; never a
 * cache. A record is made before the first request that changes anything at the vendor, and dropped
 * after the last, so that a crash in between leaves one that the next call finds. Others write them at
 * the same time: each write names the version that was read.
 *
 * A key has 1–200 printable characters, a value at most 16 KiB as JSON; at most 100 000 records. All
 * reject with a `ProviderError`: `invalid`: it cannot be kept, and says why. `transient`: the database
 * does not answer; with `outcome: 'unknown'` it may have been written, so read again. `aborted`: the
 * signal or the end of the daemon's session came first; nothing more may be asked of the vendor. These
 * two have the `outcome` of the whole call, if it keeps to that order: after a failed `make` nothing was
 * asked of the vendor, after a failed `replace` or `drop` something may have been.
 */
export interface Records {
  /** All of them, as of one moment, in any order. */
  all(options: RecordOptions): Promise<readonly ProviderRecord[]>;
  /** @returns its version. @throws {ProviderError} `conflict`: there is one with this key. */
  make(key: string, value: Json, options: RecordOptions): Promise<string>;
  /** @returns its new version. @throws {ProviderError} `conflict`: it is gone, or was changed. */
  replace(key: string, value: Json, version: string, options: RecordOptions): Promise<string>;
  /** @throws {ProviderError} `conflict`: it is gone, or was changed. */
  drop(key: string, version: string, options: RecordOptions): Promise<void>;
}
export type RecordOptions = Pick<CallOptions, 'signal'>;
