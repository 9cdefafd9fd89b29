import type { ProviderName } from '../domain/ids.ts';
import type { IntentRow, PenaltyRow, ProviderHoldRow } from '../domain/machine.ts';

/** How the calls of one kind went that this daemon made lately. */
export interface CallTimes {
  /** Such as `List`. */
  readonly operation: string;
  /** Calls since the daemon started, and those of them that failed. */
  readonly calls: number;
  readonly failed: number;
  /** Half of the latest ones took at most so long, milliseconds; and nineteen of twenty. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** When the last one ended. */
  readonly lastAtMs: number;
}

/** Slots of one kind, as the provider's latest listing has them. */
export interface SlotClass {
  readonly plan: string;
  readonly location: string | null;
  readonly free: number;
  /** Under devices that carry our mark, or none. */
  readonly used: number;
  /** Under devices of others. */
  readonly foreign: number;
  /** The provider cannot tell whether they are in use. */
  readonly unclear: number;
}

/** A configured provider, as this daemon sees it. Times are epoch ms of the database clock. */
export interface ProviderSummary {
  readonly provider: ProviderName;
  readonly driver: string;
  /** Its machines are there anyway: they are taken in, and none is made. */
  readonly isInventory: boolean;
  /** What it can do. */
  readonly can: readonly string[];
  /** Calls at once. */
  readonly callsMax: number;
  /** Managed machines at most; null: no limit. */
  readonly machinesMax: number | null;
  readonly mayEraseDisks: boolean;
  /** The session of the daemon that provisions; null: none does. */
  readonly provisioner: { readonly sessionId: string; readonly isHere: boolean } | null;
  /** The last listing; null: none since this daemon started. */
  readonly listing: {
    readonly atMs: number;
    readonly complete: boolean;
    readonly entries: number;
    readonly unreadable: number;
  } | null;
  /** Why it cannot be listed now; null: it can. */
  readonly unlisted: { readonly sinceMs: number; readonly cause: string } | null;
  /** Whether its listing is believed, and when that was judged; null: it was not yet. */
  readonly breaker: { readonly reason: string | null; readonly atMs: number } | null;
  readonly classes: readonly SlotClass[];
  /** What must not be asked of it now, the latest end first. */
  readonly holds: readonly ProviderHoldRow[];
  /** Slots that rest after a failed creation, the earliest end first. */
  readonly shelf: readonly PenaltyRow[];
  /** Creations that were begun and not settled yet, the oldest first. */
  readonly unsettled: readonly IntentRow[];
  readonly calls: readonly CallTimes[];
}

/** What is told of providers. */
export interface ProvidersView {
  /** By name. From memory: no provider is asked. */
  summaries(): Promise<readonly ProviderSummary[]>;
  /** @returns null: no such provider is configured. */
  summary(name: string): Promise<ProviderSummary | null>;
}

/** Nothing is known of any provider. */
export const NO_PROVIDERS: ProvidersView = { summaries: async () => [], summary: async () => null };
