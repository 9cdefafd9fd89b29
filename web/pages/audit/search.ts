/** What the address of the audit says: what is looked at, and which of it. */
export interface AuditSearch {
  readonly kind?: string;
  readonly verb?: string;
  readonly state?: string;
  readonly by?: string;
  readonly slot?: string;
  /** Types of events, as the API takes them. */
  readonly type?: string;
  /** How far back: a key of `SPANS_MS`. */
  readonly since?: string;
  /** `on`: looked for again and again. */
  readonly follow?: string;
}
export interface TrailProps {
  readonly search: AuditSearch;
  readonly change: (part: AuditSearch) => void;
}

const NAMES = ['kind', 'verb', 'state', 'by', 'slot', 'type', 'since', 'follow'] as const;

/** Takes what stands in the address, whatever it is. */
export const readAuditSearch = (search: Record<string, unknown>): AuditSearch =>
  Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = search[name];
      return typeof value === 'string' && value !== '' ? [[name, value]] : [];
    }),
  );

const HOUR_MS = 3_600_000;
export const SPANS_MS: Readonly<Record<string, number>> = {
  '1h': HOUR_MS,
  '1d': 24 * HOUR_MS,
  '7d': 7 * 24 * HOUR_MS,
  '30d': 30 * 24 * HOUR_MS,
};

/** Parts of the address that the API filters requests by. */
export const requestFilter = ({ verb, state, by, slot, since }: AuditSearch, nowMs: number) => {
  const spanMs = SPANS_MS[since ?? ''];
  return {
    ...{ verb, state, by, slot },
    ...(spanMs !== undefined && { since: Math.round(nowMs - spanMs) }),
  };
};
