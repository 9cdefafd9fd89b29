import type { ProviderName } from '../../domain/ids.ts';
import type { Json, ProviderRecord, RecordName } from '../../domain/provisioning/records.ts';

/** What drivers keep, for whoever reads it. */
export interface RecordShelf {
  /** All of one provider, as of one moment, in any order; none for one that nobody knows. */
  all(provider: ProviderName, signal: AbortSignal): Promise<readonly ProviderRecord[]>;
  /** How many each provider has, configured or not. */
  counts(signal: AbortSignal): Promise<ReadonlyMap<ProviderName, number>>;
}

/**
 * Writes records, each call in one transaction, by compare-and-set. Every call throws `SessionExpired`,
 * with nothing written, when the session is dead; `AmbiguousCommit` when it cannot be found out whether
 * something was written: then read again. Values are not looked into.
 */
export interface RecordBook {
  /**
   * Only where there is none.
   * @returns its version.
   * @throws {ProviderError} `conflict`: there is one. `invalid`: the key or the value cannot be kept, or
   *   the provider has too many; calls at the same moment may exceed that by their number.
   */
  make(name: RecordName, value: Json): Promise<string>;
  /**
   * Only the one with this version.
   * @returns its new version.
   * @throws {ProviderError} `conflict`: it is gone, or was changed. `invalid`, as `make`.
   */
  replace(name: RecordName, value: Json, version: string): Promise<string>;
  /** Only the one with this version. @throws {ProviderError} `conflict`: it is gone, or was changed. */
  drop(name: RecordName, version: string): Promise<void>;
}
