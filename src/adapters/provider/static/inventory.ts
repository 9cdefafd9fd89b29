import { explain, isProviderError, ProviderError, UsageError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import { type InventoryEntry, parseInventory } from './entries.ts';
import type { Source } from './source.ts';

/** The machines of an inventory, read again from time to time. */
export interface Inventory {
  /**
   * The entries by id; of the last good copy, when it cannot be read or is refused now.
   * @param agesMs reads it again if it is older than this; the usual when absent.
   * @throws {ProviderError} there never was a good copy.
   */
  entries(signal: AbortSignal, agesMs?: number): Promise<ReadonlyMap<string, InventoryEntry>>;
}

export interface InventoryDeps {
  readonly name: string;
  readonly source: Source;
  readonly refreshMs: number;
  /** The names of passwords that entries may refer to. */
  readonly passwords: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A fault that stays is told again after this. */
const REMIND_MS = 3_600_000;

export function createInventory(deps: InventoryDeps): Inventory {
  const { name, source, refreshMs, passwords, clock, log } = deps;
  let copy: ReadonlyMap<string, InventoryEntry> | null = null;
  let lookedMs = -Infinity;
  let fault: { readonly cause: string; readonly toldMs: number } | null = null;

  async function look(signal: AbortSignal): Promise<ReadonlyMap<string, InventoryEntry>> {
    const reading = await source.read(signal);
    if (reading === null && copy) return copy;
    const entries = parseInventory(reading?.content ?? '', passwords);
    reading?.accept();
    log.debug({ provider: name, machines: entries.length }, 'the inventory was read');
    return new Map(entries.map((entry) => [entry.id, entry]));
  }

  /** At once when it is news, and again from time to time, so that nobody forgets it. */
  function alarm(cause: string, atMs: number): void {
    if (fault?.cause === cause && atMs - fault.toldMs < REMIND_MS) return;
    fault = { cause, toldMs: atMs };
    log.error({ provider: name, cause }, 'the last good inventory is kept');
  }
  function recovered(): void {
    if (fault) log.info({ provider: name }, 'the inventory is good again');
    fault = null;
  }

  return {
    async entries(signal, ageMs = refreshMs) {
      if (copy && clock.monotonic() - lookedMs < ageMs) return copy;
      const atMs = clock.monotonic();
      try {
        copy = await look(signal);
        lookedMs = atMs;
        recovered();
      } catch (error) {
        if (!(error instanceof UsageError) && !isProviderError(error)) throw error;
        lookedMs = atMs;
        if (!copy) throw refused(error);
        alarm(explain(error), atMs);
      }
      return copy;
    },
  };
}

const refused = (error: UsageError | ProviderError): ProviderError =>
  error instanceof UsageError
    ? new ProviderError('invalid', error.message, { cause: error })
    : error;
