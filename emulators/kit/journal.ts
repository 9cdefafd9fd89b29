/** How one request's connection ended. */
export type Fate = 'open' | 'replied' | 'dropped' | 'hung' | 'clientGone';

export interface JournalEntry {
  /** From 1, without gaps, and continued after a restart. */
  readonly seq: number;
  /** The emulator's time, epoch ms. */
  readonly atMs: number;
  readonly method: string;
  /** With placeholders below the base path; the plain path when no route matches. */
  readonly route: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Secrets masked. */
  readonly body: unknown;
  /** Sent status; null without an answer. */
  readonly status: number | null;
  /** Whether the request read or changed the world. */
  readonly executed: boolean;
  readonly fate: Fate;
  /** End, epoch ms; null while it is open, or hangs with a waiting client. */
  readonly doneAtMs: number | null;
  /** Ids of the faults that struck it. */
  readonly faults: readonly string[];
}

export type OpenEntry = { -readonly [K in keyof JournalEntry]: JournalEntry[K] };
type Opening = Pick<OpenEntry, 'atMs' | 'method' | 'route' | 'path' | 'query' | 'body'>;

/** `Extra`: an emulator's own fields of each entry. */
export interface Journal<Extra extends object = object> {
  open(entry: Opening & Extra): OpenEntry & Extra;
  since(seq: number): readonly (JournalEntry & Extra)[];
}

/** Number of kept entries; older entries are deleted in blocks. */
const KEEP = 20_000;

/** The state's `requestCount` is the last `seq`. */
export function createJournal<Extra extends object = object>(state: {
  requestCount: number;
}): Journal<Extra> {
  let entries: (OpenEntry & Extra)[] = [];
  return {
    open: (known) => {
      const entry: OpenEntry & Extra = {
        seq: ++state.requestCount,
        ...known,
        status: null,
        executed: false,
        fate: 'open',
        doneAtMs: null,
        faults: [],
      };
      entries.push(entry);
      if (entries.length > KEEP * 1.25) entries = entries.slice(-KEEP);
      return entry;
    },
    since: (after) => entries.filter((entry) => entry.seq > after).map((entry) => ({ ...entry })),
  };
}

const SECRET = /^(userdata|customdata|root_password|.*private_key|token|password)$/i;

/** A copy with the values of secret fields replaced. */
export function maskSecrets<T>(value: T): T;
export function maskSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((one) => maskSecrets<unknown>(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      SECRET.test(name) && inner !== null ? '***' : maskSecrets(inner),
    ]),
  );
}
