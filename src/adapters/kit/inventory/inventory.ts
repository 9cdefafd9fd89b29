import { explain, isProviderError, ProviderError, UsageError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { Source } from './source.ts';

/** The machines of an inventory, read again from time to time. */
export interface Inventory<Entry> {
  /**
   * The entries by id; of the last good copy, when it cannot be read or is refused now.
   * @param agesMs reads it again if it is older than this; the usual when absent.
   * @throws {ProviderError} there never was a good copy.
   */
  entries(signal: AbortSignal, agesMs?: number): Promise<ReadonlyMap<string, Entry>>;
}

export interface InventoryDeps<Entry> {
  readonly name: string;
  readonly source: Source;
  readonly refreshMs: number;
  /** Reads the whole list. @throws {UsageError} it is refused. */
  readonly parse: (content: string) => readonly Entry[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A fault that stays is told again after this. */
const REMIND_MS = 3_600_000;

export function createInventory<Entry extends { readonly id: string }>(
  deps: InventoryDeps<Entry>,
): Inventory<Entry> {
  const { name, source, refreshMs, parse, clock, log } = deps;
  let copy: ReadonlyMap<string, Entry> | null = null;
  let lookedMs = -Infinity;
  let fault: { readonly cause: string; readonly toldMs: number } | null = null;

  async function look(signal: AbortSignal): Promise<ReadonlyMap<string, Entry>> {
    const reading = await source.read(signal);
    if (reading === null && copy) return copy;
    const entries = parse(reading?.content ?? '');
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
