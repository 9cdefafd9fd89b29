import { stringify } from 'yaml';
import { z } from 'zod';
import { SET_ID_TAG, WITNESS_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { nullIfGone } from '../../driver-kit/errors.ts';
import type { UserData } from './api.ts';
import type { Routes } from './routes.ts';

/** Path of the first-boot script until it has run. */
export const SCRIPT_PATH = '/root/.shepherd-first-boot';

/** A cloud-config that does nothing. */
export const NOTHING_TO_RUN = '{}\n';

/**
 * A cloud-config that runs a script once, as root, and removes it. It contains nothing else, so
 * that the site's own script lines are free.
 */
export const cloudConfigOf = (script: string): string =>
  stringify(
    {
      write_files: [
        {
          path: SCRIPT_PATH,
          encoding: 'b64',
          owner: 'root:root',
          permissions: '0700',
          content: Buffer.from(script).toString('base64'),
        },
      ],
      runcmd: [
        ['/bin/sh', SCRIPT_PATH],
        ['rm', '-f', SCRIPT_PATH],
      ],
    },
    { lineWidth: 0 },
  );

/**
 * One user-data record of the vendor holds everything about one machine. The description has its
 * owner. The second line of the content has its tags, before the first-boot script.
 */
export interface Mark {
  /** Owning instance set. */
  readonly set: string;
  /** Lower case. */
  readonly hostname: string;
  readonly witness: string;
  readonly tags: Tags;
  /** Last write before a machine was requested, in epoch milliseconds of our clock. */
  readonly t: number;
  /** The machine's slot: stays known after it leaves the configuration. */
  readonly slot: string;
  /** The content still has the first-boot script, and with it the secret. */
  readonly hasScript: boolean;
}

const HEAD = '#cloud-config';
const NOTE = '# shepherd ';
const DESCRIPTION = /^shepherd ([A-Za-z0-9]{5}-[A-Za-z0-9]{5}-[A-Za-z0-9]{15}) (\S+) (\S+)$/;
/** Anything longer is no record of ours. */
const CONTENT_MAX = 64 * 1024;

const noted = z.object({
  tags: z.record(z.string(), z.string()),
  t: z.number().int().nonnegative(),
  v: z.literal(1),
  slot: z.string().default(''),
});

/** @param body first-boot part; `NOTHING_TO_RUN` for a machine that booted long ago. */
export function writeRecord(
  { set, hostname, witness, tags, t, slot }: Omit<Mark, 'hasScript'>,
  body: string,
) {
  const json = JSON.stringify({ tags, t, v: 1, slot });
  const note = NOTE + Buffer.from(json).toString('base64url');
  return {
    description: `shepherd ${set} ${hostname} ${witness}`,
    /** Base64. With a script it holds a secret: never logged. */
    content: Buffer.from(`${HEAD}\n${note}\n${body}`).toString('base64'),
  };
}
/** Text sent to the vendor. */
export type RecordText = ReturnType<typeof writeRecord>;

/** Owner of a record by its description alone; null if it is no record of Shepherd's. */
export function claimOf(
  description: string | undefined,
): Pick<Mark, 'set' | 'hostname' | 'witness'> | null {
  const found = DESCRIPTION.exec(description ?? '');
  return found && { set: found[1]!, hostname: found[2]!.toLowerCase(), witness: found[3]! };
}

/** Null if it is no mark: unreadable, or description and content contradict each other. */
export function readRecord({
  description,
  content = '',
}: {
  readonly description?: string | undefined;
  readonly content?: string | undefined;
}): Mark | null {
  const claim = claimOf(description);
  const told = claim && notedIn(content);
  if (!claim || !told) return null;
  const { tags, t, slot } = told;
  const agrees =
    tags[SET_ID_TAG] === claim.set && (tags[WITNESS_TAG] ?? NO_WITNESS) === claim.witness;
  return agrees ? { ...claim, tags, t, slot, hasScript: told.hasScript } : null;
}

/** `t` of an assimilated machine, whose installation time is unknown. */
export const TAKEN_IN_T = 0;

/** Creation key in the description of an assimilated machine. */
export const NO_WITNESS = '-';

/** First-boot part of a record. Holds a secret: never logged. */
export const bodyIn = (content = ''): string => linesOf(content).slice(2).join('\n');

const linesOf = (content: string): string[] =>
  Buffer.from(content, 'base64').toString('utf8').split('\n');

function notedIn(content: string) {
  if (content.length > CONTENT_MAX) return null;
  const [head, note = ''] = linesOf(content);
  if (head !== HEAD || !note.startsWith(NOTE)) return null;
  const told = noted.safeParse(jsonIn(note.slice(NOTE.length)));
  if (!told.success) return null;
  return { ...told.data, hasScript: bodyIn(content).trim() !== NOTHING_TO_RUN.trim() };
}

/** Undefined if it is no JSON. The parser's own error would quote the text. */
function jsonIn(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}

/** A user-data record that claims a machine for a set, ours or another. */
export interface StoredRecord extends Pick<Mark, 'set' | 'hostname' | 'witness'> {
  readonly id: string;
  /** Null: the content is unreadable or contradicts the description, so it is no mark. */
  readonly mark: Mark | null;
  /**
   * Last write, epoch milliseconds: the record's own or the API's time, but at most the time when
   * this process first saw that value. So records without a time, or with a future one, get old,
   * too.
   */
  readonly writtenAtMs: number;
}

/** The project's records, or those of one name. */
export interface RecordTable {
  of(hostname: string): readonly StoredRecord[];
  readonly all: readonly StoredRecord[];
  /** False: there may be more, or unreadable ones; then absence proves nothing. */
  readonly complete: boolean;
}

export function createStoredRecords(
  routes: Routes,
  { clock }: { readonly clock: Pick<Clock, 'now'> },
) {
  let known = new Map<string, readonly string[]>();
  /** Epoch milliseconds by record and reported time. */
  let firstSeen = new Map<string, number>();

  /** @param seen receives the times to keep. */
  function storedOf(data: UserData, seen: Map<string, number>): StoredRecord | null {
    const claim = claimOf(data.description);
    if (!claim) return null;
    const mark = readRecord(data);
    const toldMs = mark?.t ?? timeOf(data.created_at);
    const key = `${data.id} ${toldMs}`;
    const seenAtMs = firstSeen.get(key) ?? clock.now();
    seen.set(key, seenAtMs);
    return { ...claim, id: data.id, mark, writtenAtMs: Math.min(toldMs, seenAtMs) };
  }

  async function read(call: Call): Promise<RecordTable> {
    const { items, unread, complete } = await routes.listUserData(call);
    const seen = new Map<string, number>();
    const all = items.flatMap((item) => storedOf(item, seen) ?? []);
    // A listing with gaps must not lose the times of missing records.
    firstSeen = complete ? seen : new Map([...firstSeen, ...seen]);
    const byName = Map.groupBy(all, ({ hostname }) => hostname);
    const ids = (records: readonly StoredRecord[]) => records.map(({ id }) => id);
    known = new Map([...byName].map(([name, records]) => [name, ids(records)]));
    return {
      all,
      of: (hostname) => byName.get(hostname.toLowerCase()) ?? [],
      complete: complete && unread.length === 0,
    };
  }

  return {
    /** Reads all records. */
    read,
    /**
     * Reads the records of one name. If the last read of all showed exactly one, reads only that
     * one, because a project has as many records as machines.
     */
    async of(call: Call, hostname: string): Promise<RecordTable> {
      const ids = known.get(hostname.toLowerCase()) ?? [];
      if (ids.length !== 1) return read(call);
      const found = await routes.getUserData(call, ids[0]!).catch(nullIfGone);
      const stored = found && storedOf(found, firstSeen);
      if (stored?.hostname !== hostname.toLowerCase()) return read(call);
      return { all: [stored], of: () => [stored], complete: true };
    },
    /** Drops the cached record of a name. */
    forget: (hostname: string): void => void known.delete(hostname.toLowerCase()),
  };
}
export type StoredRecords = ReturnType<typeof createStoredRecords>;

/** Infinity if the text is no time. */
function timeOf(text = ''): number {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? Infinity : atMs;
}
