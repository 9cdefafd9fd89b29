import type { ListingBook } from '../../adapters/bmdb/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import { explain, isProviderError } from '../../domain/errors.ts';
import type { ProviderName, SessionId } from '../../domain/ids.ts';
import { plainText } from '../../lib/texts.ts';
import type { SessionKeeper } from '../session-keeper.ts';

/** A provider that this daemon cannot list now. */
export interface UnlistedHere {
  readonly provider: ProviderName;
  /** Epoch ms of the database clock. */
  readonly sinceMs: number;
  readonly cause: string;
}

export interface ListingHealthDeps {
  readonly book: Pick<ListingBook, 'failed' | 'succeeded'>;
  readonly keeper: Pick<SessionKeeper, 'current'>;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly log: Log;
  /** A provider begins or ceases to be listed, or the cause is another one. */
  readonly onChange: () => void;
}

/** How listings end, kept in the BMDB when that changes: those who ask no provider read it there. */
export interface ListingHealth {
  succeeded(provider: ProviderName): Promise<void>;
  /** Never throws; a listing that nobody wants any more says nothing. */
  failed(provider: ProviderName, error: unknown): Promise<void>;
  /** In the order in which they failed. */
  unlisted(): readonly UnlistedHere[];
}

/** A cause fits into two lines of a screen; some providers answer with whole pages. */
const CAUSE_MAX = 300;

export function createListingHealth(deps: ListingHealthDeps): ListingHealth {
  const { book, keeper, nowMs, log, onChange } = deps;
  const failing = new Map<ProviderName, UnlistedHere>();
  /** What we wrote into the BMDB last, and in which session; no cause: it can be listed. */
  const written = new Map<
    ProviderName,
    { readonly by: SessionId; readonly cause: string | null }
  >();

  /** What cannot be written now is written after the next listing. */
  const write = async (provider: ProviderName, cause: string | null): Promise<void> => {
    const by = keeper.current()?.sessionId;
    const before = written.get(provider);
    if (by === undefined || (before?.by === by && before.cause === cause)) return;
    try {
      if (cause === null) await book.succeeded(provider, by);
      else await book.failed({ provider, sessionId: by, cause });
      written.set(provider, { by, cause });
    } catch (error) {
      const fields = { provider, cause: explain(error) };
      log.warn(fields, 'how a listing ended could not be written');
    }
  };

  return {
    unlisted: () => [...failing.values()],
    async succeeded(provider) {
      if (failing.delete(provider)) {
        log.info({ provider }, 'the provider can be listed again');
        onChange();
      }
      await write(provider, null);
    },
    async failed(provider, error) {
      if (isProviderError(error, 'aborted')) return;
      const cause = plainText(explain(error), CAUSE_MAX);
      const before = failing.get(provider);
      if (before?.cause !== cause) {
        failing.set(provider, { provider, cause, sinceMs: before?.sinceMs ?? nowMs() });
        onChange();
      }
      await write(provider, cause);
    },
  };
}
