import { z } from 'zod';
import { SET_ID_TAG, type Tags, WITNESS_TAG } from '../../../domain/provisioning/provider-tags.ts';
import { NOTHING_TO_RUN } from './cloud-config.ts';

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

/** What is written to the vendor. */
export interface RecordText {
  readonly description: string;
  /** Base64. Holds a secret where there is a script: never logged. */
  readonly content: string;
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
): RecordText {
  const json = JSON.stringify({ tags, t, v: 1, slot });
  const note = NOTE + Buffer.from(json).toString('base64url');
  return {
    description: `shepherd ${set} ${hostname} ${witness}`,
    content: Buffer.from(`${HEAD}\n${note}\n${body}`).toString('base64'),
  };
}

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
