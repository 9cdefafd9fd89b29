/** The parameters of the audit in the address. */
export interface AuditSearch {
  readonly kind?: string;
  readonly verb?: string;
  readonly state?: string;
  readonly by?: string;
  readonly slot?: string;
  /** Types of events, as the API takes them. */
  readonly type?: string;
  /** The time span: a key of `SPANS_MS`. */
  readonly since?: string;
  /** `on`: the page polls for new entries. */
  readonly follow?: string;
}
export interface TrailProps {
  readonly search: AuditSearch;
  readonly change: (part: AuditSearch) => void;
}

const NAMES = ['kind', 'verb', 'state', 'by', 'slot', 'type', 'since', 'follow'] as const;

/** Reads the parameters in the address and ignores invalid values. */
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

/** Parameters by which the API filters requests. */
export const requestFilter = ({ verb, state, by, slot, since }: AuditSearch, nowMs: number) => {
  const spanMs = SPANS_MS[since ?? ''];
  return {
    ...{ verb, state, by, slot },
    ...(spanMs !== undefined && { since: Math.round(nowMs - spanMs) }),
  };
};
