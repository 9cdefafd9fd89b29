import type { InspectedField } from '../port.ts';
import type { MessageReader } from './messages.ts';
import { isSecretName, REDACTED } from './secrets.ts';

export const UNKNOWN = '<unknown>';
const UNREADABLE = '<unreadable>';

/** A column of a tag's table. */
export interface TagColumn {
  readonly name: string;
  /** PostgreSQL's internal name: `int8`, `timestamptz`, `bytea`, the name of an enum. */
  readonly type: string;
}

/**
 * Formats a value for people.
 * @param raw null, or text: of `timestamptz` epoch milliseconds, of `bytea` hex digits.
 */
export function inspectField(
  { name, type }: TagColumn,
  raw: string | null,
  messages: MessageReader,
): InspectedField {
  if (raw === null) return { name, type, value: UNKNOWN };
  if (isSecretName(name)) return { name, type, value: REDACTED };
  if (messages.knows(name)) return messageField({ name, type }, raw, messages);
  return { name, type, value: type === 'timestamptz' ? timeText(raw) : raw };
}

/** Bytes that are no message may still hold a secret, so they are not shown. */
function messageField(column: TagColumn, hex: string, messages: MessageReader): InspectedField {
  const bytes = Buffer.from(hex, 'hex');
  const message = messages.read(column.name, bytes);
  if (!message) return { ...column, value: `${UNREADABLE} (${bytes.length} bytes)` };
  return { ...column, value: message.text, message: message.fields };
}

/** `infinity`, and times too far away for a date, stay as they are. */
function timeText(raw: string): string {
  const time = new Date(Number(raw));
  return Number.isNaN(time.getTime()) ? raw : time.toISOString();
}

/** Words spelled in capitals. */
const ACRONYMS: ReadonlySet<string> = new Set(['os']);

/** Name of a tag: `machine_os_installation_report` becomes `OSInstallationReport`. */
export const tagName = (table: string): string =>
  table
    .replace(/^machine_/, '')
    .split('_')
    .map((word) => (ACRONYMS.has(word) ? word.toUpperCase() : capitalised(word)))
    .join('');

const capitalised = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);
