import type { ProviderName, SessionId } from '../../domain/ids.ts';

/** A provider that a live daemon cannot list now. */
export interface Unlisted {
  readonly provider: ProviderName;
  /** Who finds so: another daemon may be able to. */
  readonly sessionId: SessionId;
  /** Database clock, epoch ms: first of the unbroken failures, also of daemons before this one. */
  readonly sinceMs: number;
  readonly cause: string;
}

/** What daemons find when they list providers, for those who ask no provider. */
export interface ListingBook {
  /** A listing failed; to be called when it did not before, or not for this cause. */
  failed(found: Omit<Unlisted, 'sinceMs'>): Promise<void>;
  /** It can be listed; what daemons said that are dead since is forgotten, too. */
  succeeded(provider: ProviderName, sessionId: SessionId): Promise<void>;
  /** What live daemons cannot list, by provider, the longest failure first. */
  unlisted(signal: AbortSignal): Promise<readonly Unlisted[]>;
}
