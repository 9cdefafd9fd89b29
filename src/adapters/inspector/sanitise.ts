import { explain } from '../../domain/errors.ts';

/** Limits of one call of `sanitise`. */
const LIMITS = { depth: 8, entries: 100, nodes: 4_000, textLength: 2_000 } as const;

const SECRET_NAME = /token|password|secret|private|key|credential|authorization|cookie|userdata/i;
const SECRET_TEXT = /-----BEGIN [A-Z ]+-----/;
const HIDDEN = '[hidden]';

/**
 * Returns a copy of any value that is safe to show and to send as JSON. Hides secrets by name and
 * key material; shows bytes by their length and bigints as text; cuts big or deep values. Reads own
 * enumerable properties only and never throws.
 */
export function sanitise(value: unknown): unknown {
  let nodes = 0;
  const visit = (at: unknown, depth: number): unknown => {
    nodes += 1;
    if (typeof at === 'string') return text(at);
    if (typeof at === 'bigint') return at.toString();
    if (typeof at === 'function' || typeof at === 'symbol') return `[${typeof at}]`;
    if (typeof at !== 'object' || at === null) return at;
    if (nodes > LIMITS.nodes) return '[cut: too large]';
    if (depth > LIMITS.depth) return '[cut: too deep]';
    return leaf(at) ?? composite(at, (child) => visit(child, depth + 1));
  };
  try {
    return visit(value, 0);
  } catch (error) {
    return `[unreadable: ${explain(error)}]`;
  }
}

function text(value: string): string {
  if (SECRET_TEXT.test(value)) return HIDDEN;
  return value.length <= LIMITS.textLength ? value : `${value.slice(0, LIMITS.textLength)}… [cut]`;
}

/** Objects shown as one text. Actors appear by name: their properties lead to everything. */
function leaf(value: object): unknown {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (value instanceof Error) return text(explain(value));
  if ('sessionId' in value && 'getSnapshot' in value) return `[actor ${String(value.sessionId)}]`;
  return undefined;
}

function composite(value: object, visit: (child: unknown) => unknown): unknown {
  if (Array.isArray(value) || value instanceof Set) return list([...value], visit);
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  const shown = entries.slice(0, LIMITS.entries).map(([name, child]: [unknown, unknown]) => {
    const label = typeof name === 'string' ? name : String(visit(name));
    return [label, SECRET_NAME.test(label) && hides(child) ? HIDDEN : visit(child)];
  });
  if (entries.length > shown.length) shown.push(['…', `${entries.length - shown.length} more`]);
  return Object.fromEntries(shown) as unknown;
}

/** Absence is no secret, and worth showing. */
const hides = (value: unknown) => value !== null && value !== undefined;

function list(items: readonly unknown[], visit: (child: unknown) => unknown): unknown[] {
  const shown = items.slice(0, LIMITS.entries).map(visit);
  const more = items.length - shown.length;
  return more > 0 ? [...shown, `[${more} more]`] : shown;
}
