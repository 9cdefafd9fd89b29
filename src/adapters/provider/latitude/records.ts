import { stringify } from 'yaml';
import { z } from 'zod';
import { SET_ID_TAG, WITNESS_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Call } from '../../driver-kit/call.ts';
import { nullIfGone } from '../../driver-kit/errors.ts';
import type { UserData } from './api.ts';
import type { Routes } from './routes.ts';

/** Where the script of the first boot lies until it has run. */
export const SCRIPT_PATH = '/root/.shepherd-first-boot';

/** The rest of a cloud-config that does nothing. */
export const NOTHING_TO_RUN = '{}\n';

/**
 * The keys of a cloud-config that runs a script once, as root, and removes it. Nothing else, so that the
 * site's own lines of the script stay free to do what they want.
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
 * One user-data record of the vendor's holds all that we have to say of one machine: whose it is, in its
 * description, and its tags, in the second line of its content, before the first boot.
 */
export interface Mark {
  /** Instance set whose machine it is. */
  readonly set: string;
  /** Lower case. */
  readonly hostname: string;
  readonly witness: string;
  readonly tags: Tags;
  /** Epoch milliseconds, by our clock: when it was last written before a machine was asked for. */
  readonly t: number;
  /** Slot of the machine: its place stays known after the configuration has forgotten it. */
  readonly slot: string;
  /** The content still has the script of the first boot, and with it the secret. */
  readonly hasScript: boolean;
}

const HEAD = '#cloud-config';
const NOTE = '# shepherd ';
const DESCRIPTION = /^shepherd ([A-Za-z0-9]{5}-[A-Za-z0-9]{5}-[A-Za-z0-9]{15}) (\S+) (\S+)$/;
/** More is no record of ours. */
const CONTENT_MAX = 64 * 1024;

const noted = z.object({
  tags: z.record(z.string(), z.string()),
  t: z.number().int().nonnegative(),
  v: z.literal(1),
  slot: z.string().default(''),
});

/**
 * @param body what runs at the first boot, as the rest of a cloud-config; `NOTHING_TO_RUN` for a machine
 *   that has booted long ago.
 */
export function writeRecord(
  { set, hostname, witness, tags, t, slot }: Omit<Mark, 'hasScript'>,
  body: string,
) {
  const json = JSON.stringify({ tags, t, v: 1, slot });
  const note = NOTE + Buffer.from(json).toString('base64url');
  return {
    description: `shepherd ${set} ${hostname} ${witness}`,
    /** Base64. Holds a secret where there is a script: never logged. */
    content: Buffer.from(`${HEAD}\n${note}\n${body}`).toString('base64'),
  };
}
/** What is written to the vendor. */
export type RecordText = ReturnType<typeof writeRecord>;

/** Whose a record is, by its description alone; null: it is none of Shepherd's. */
export function claimOf(
  description: string | undefined,
): Pick<Mark, 'set' | 'hostname' | 'witness'> | null {
  const found = DESCRIPTION.exec(description ?? '');
  return found && { set: found[1]!, hostname: found[2]!.toLowerCase(), witness: found[3]! };
}

/** Null: it is no mark, since it cannot be read, or its description and its content disagree. */
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

/** `t` of a machine that was installed before it became ours, nobody knows when. */
export const TAKEN_IN_T = 0;

/** In the description of a machine that no creation of ours made. */
export const NO_WITNESS = '-';

/** What a record runs at the first boot. Holds a secret: never logged. */
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

/** Undefined: it is no JSON. The parser's own error would quote it. */
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
  /** Null: its content cannot be read or contradicts its description, so it is no mark. */
  readonly mark: Mark | null;
  /**
   * When it was written last, epoch milliseconds: as it says itself or the API says, but not after it was first
   * seen so by this process. So one that tells no time, or one that has not come yet, grows old, too.
   */
  readonly writtenAtMs: number;
}

/** The records of the project, or of one name in it. */
export interface RecordTable {
  of(hostname: string): readonly StoredRecord[];
  readonly all: readonly StoredRecord[];
  /** False: there may be more, or some that cannot be read; then nothing follows from absence. */
  readonly complete: boolean;
}

export function createStoredRecords(
  routes: Routes,
  { clock }: { readonly clock: Pick<Clock, 'now'> },
) {
  let known = new Map<string, readonly string[]>();
  /** Epoch milliseconds, by record and the time that it tells. */
  let firstSeen = new Map<string, number>();

  /** @param seen what is kept of the times. */
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
    // What a listing with gaps left out is not forgotten.
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
    /** All of them, read anew. */
    read,
    /**
     * Those of one name. If the newest reading of all showed exactly one, only that one is read again, for
     * a project has as many records as machines.
     */
    async of(call: Call, hostname: string): Promise<RecordTable> {
      const ids = known.get(hostname.toLowerCase()) ?? [];
      if (ids.length !== 1) return read(call);
      const found = await routes.getUserData(call, ids[0]!).catch(nullIfGone);
      const stored = found && storedOf(found, firstSeen);
      if (stored?.hostname !== hostname.toLowerCase()) return read(call);
      return { all: [stored], of: () => [stored], complete: true };
    },
    /** It is not what it was when it was read. */
    forget: (hostname: string): void => void known.delete(hostname.toLowerCase()),
  };
}
export type StoredRecords = ReturnType<typeof createStoredRecords>;

/** Infinity: it is none. */
function timeOf(text = ''): number {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? Infinity : atMs;
}
