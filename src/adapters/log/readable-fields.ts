import { TEXT_MAX, visibleText } from '../../domain/texts.ts';

/** Characters of all texts of one line together; what comes later in it is cut to `LEAST`. */
const ROOM = 16_000;
/** What is left of a text that comes when the room is used up. */
const LEAST = 100;
const ITEMS_MAX = 50;
const DEPTH_MAX = 5;

/**
 * The fields of a log line as people and terminals can take them. Machines and providers write much
 * of what is logged: it is cut, and what is invisible or commands a terminal is written out.
 * Errors are left to the log's own serializer, what knows how to show itself to JSON.
 */
export function readableFields(fields: Record<string, unknown>): Record<string, unknown> {
  const room = { left: ROOM };
  return mapped(fields, (value) => readable(value, room, 1));
}

function readable(value: unknown, room: { left: number }, depth: number): unknown {
  if (typeof value === 'string') return fitting(value, room);
  if (typeof value !== 'object' || value === null || value instanceof Error) return value;
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`;
  if (depth > DEPTH_MAX) return '(more)';
  const inner = (part: unknown) => readable(part, room, depth + 1);
  if (Array.isArray(value)) {
    const more = value.length - ITEMS_MAX;
    return [...value.slice(0, ITEMS_MAX).map(inner), ...(more > 0 ? [`and ${more} more`] : [])];
  }
  return isPlain(value) ? mapped(value, inner) : value;
}

function fitting(text: string, room: { left: number }): string {
  const shown = visibleText(text, Math.max(LEAST, Math.min(TEXT_MAX, room.left)));
  room.left -= shown.length;
  return shown;
}

function mapped(fields: object, change: (value: unknown) => unknown): Record<string, unknown> {
  const entries = Object.entries(fields);
  const kept = entries
    .slice(0, ITEMS_MAX)
    .map(([key, value]) => [visibleText(key, LEAST), change(value)]);
  const more = entries.length - ITEMS_MAX;
  return Object.fromEntries(more > 0 ? [...kept, ['…', `and ${more} more`]] : kept);
}

const isPlain = (value: object): boolean =>
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
