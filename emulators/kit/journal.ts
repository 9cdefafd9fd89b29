/** What became of one request's connection. */
export type Fate = 'open' | 'replied' | 'dropped' | 'hung' | 'clientGone';

export interface JournalEntry {
  /** From 1, without gaps, and on over a restart. */
  readonly seq: number;
  /** The emulator's time, epoch ms. */
  readonly atMs: number;
  readonly method: string;
  /** With placeholders below the base path; the plain path when no route fits. */
  readonly route: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Secrets masked. */
  readonly body: unknown;
  /** What was sent; null without an answer. */
  readonly status: number | null;
  /** Whether the request changed, or read, the world. */
  readonly executed: boolean;
  readonly fate: Fate;
  /** When it was over, epoch ms; null while it is open, or hangs and its client waits. */
  readonly doneAtMs: number | null;
  /** Ids of the faults that hit it. */
  readonly faults: readonly string[];
}

export type OpenEntry = { -readonly [K in keyof JournalEntry]: JournalEntry[K] };
type Opening = Pick<OpenEntry, 'atMs' | 'method' | 'route' | 'path' | 'query' | 'body'>;

/** `Extra`: what an emulator of its own notes of each request. */
export interface Journal<Extra extends object = object> {
  open(entry: Opening & Extra): OpenEntry & Extra;
  since(seq: number): readonly (JournalEntry & Extra)[];
}

/** Entries kept; older ones are forgotten in blocks. */
const KEEP = 20_000;

/** `requestCount` of the state is the last `seq`. */
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
