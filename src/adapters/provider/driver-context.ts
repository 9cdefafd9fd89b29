import type { ProviderName } from '../../domain/ids.ts';
import type { NewEvent } from '../../domain/events/fleet-event.ts';
import type { RecordJson, ProviderRecord } from '../../domain/provisioning/records.ts';
import type { Clock, Random } from '../clock/port.ts';
import type { Network } from '../network/port.ts';
import type { Log } from '../log/port.ts';
import type { Metrics } from '../metrics/port.ts';
import type { DriverShell } from './driver-shell.ts';
import type { CallOptions } from './port.ts';

/** What a driver receives besides its settings. */
export interface DriverContext {
  /** Name of the configured provider, for messages. */
  readonly name: ProviderName;
  /** `xxxxx-xxxxx-xxxxxxxxxxxxxxx`: marks what is ours, as the value of `SET_ID_TAG`. */
  readonly instanceSetId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** OpenSSH line of the key that new machines let in. May change, so read it at each use. */
  readonly publicKey: string;
  /** OpenSSH lines of our earlier keys, which may be replaced at a vendor. May also change. */
  readonly previousKeys?: readonly string[];
  /** The driver's records in the BMDB, for a vendor that has no field for tags. */
  readonly records: Records;
  /** SSH to machines that the driver installs itself. */
  readonly shell: DriverShell;
  /** For HTTP. */
  readonly userAgent: string;
  /** Network access; TCP and TLS if absent. */
  readonly network?: Network | undefined;
  /** Live daemons that share the provider's request budget; at least 1. */
  daemons(): number;
  /** Writes an event about a change at the vendor; absent if nobody reads events. Never throws. */
  tellEvent?(event: Pick<NewEvent, 'type' | 'reason' | 'details'>): void;
  /** For a driver with its own queue: begins a wait that does not count against the call. */
  waitsForTurn?(): TurnWait;
}

export interface TurnWait {
  /** Goes before other requests, because the call gives something back. */
  readonly urgent: boolean;
  /** Ends the wait. */
  end(): void;
}

/**
 * Records of one configured provider: marks, and the state of changes in progress; never a cache.
 * Create a record before the first request that changes anything at the vendor, and drop it after
 * the last. So after a crash in between, the next call finds it. Other daemons write at the same
 * time, so each write names the version that it read.
 *
 * A key has 1–200 printable characters, a value at most 16 KiB as JSON; at most 100 000 records.
 * All methods reject with a `ProviderError`. `invalid`: the record cannot be stored, with the
 * reason. `transient`: the database does not answer; with `outcome: 'unknown'` the write may have
 * happened, so read again. `aborted`: the signal, or the end of the daemon's session; make no
 * further request to the vendor. The last two carry the `outcome` of the whole call, if it keeps to
 * that order: before a failed `make` the vendor got no request; before a failed `replace` or `drop`
 * it may have got one.
 */
export interface Records {
  /** All records from one snapshot, in any order. */
  all(options: RecordOptions): Promise<readonly ProviderRecord[]>;
  /** @returns the record's version. @throws {ProviderError} `conflict`: the key exists. */
  make(key: string, value: RecordJson, options: RecordOptions): Promise<string>;
  /** @returns the new version. @throws {ProviderError} `conflict`: it is gone or changed. */
  replace(key: string, value: RecordJson, version: string, options: RecordOptions): Promise<string>;
  /** @throws {ProviderError} `conflict`: the record is gone or changed. */
  drop(key: string, version: string, options: RecordOptions): Promise<void>;
}
export type RecordOptions = Pick<CallOptions, 'signal'>;
