import { isIPv4 } from 'node:net';
import { undeclaredFields, type Allowance } from './allowances.ts';
import type { Fields } from './resources.ts';

/** A type of the tables, ready to be asked. */
export type Type =
  | { readonly kind: 'plain'; readonly text: string; readonly fits: (value: unknown) => boolean }
  | { readonly kind: 'list' | 'map'; readonly text: string; readonly of: Type }
  | { readonly kind: 'resource'; readonly text: string };

export interface Field {
  /** As `Device.hostname`. */
  readonly name: string;
  readonly type: Type;
  readonly isRequired: boolean;
  /** For a field of replies that is not declared at all. */
  readonly allowance?: Allowance;
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
const isText = (value: unknown): value is string => typeof value === 'string';
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const FORMATS: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  text: isText,
  uuid: (value) => isText(value) && UUID.test(value),
  time: (value) => isText(value) && TIME.test(value) && !Number.isNaN(Date.parse(value)),
  date: (value) => isText(value) && /^\d{4}-\d\d-\d\d$/.test(value),
  ipv4: (value) => isText(value) && isIPv4(value),
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  object: isObject,
};

export function parseType(text: string): Type {
  if (text.startsWith('[')) return { kind: 'list', text, of: parseType(text.slice(1, -1)) };
  if (text.startsWith('{')) return { kind: 'map', text, of: parseType(text.slice(1, -1)) };
  if (FORMATS[text]) return { kind: 'plain', text, fits: FORMATS[text] };
  if (!/^[=#]/.test(text)) return { kind: 'resource', text };
  const listed = text.slice(1).split('|');
  const values = new Set<unknown>(text.startsWith('#') ? listed.map(Number) : listed);
  return { kind: 'plain', text, fits: (value) => values.has(value) };
}

const parsed = new WeakMap<Fields, ReadonlyMap<string, Field>>();

/** The fields of a resource or input, with those that replies may have beside the declared ones. */
export function fieldsOf(resource: string, fields: Fields): ReadonlyMap<string, Field> {
  const known = parsed.get(fields);
  if (known) return known;
  const made = new Map<string, Field>();
  for (const [field, text] of Object.entries(fields)) {
    const isRequired = text.endsWith('!');
    const type = parseType(isRequired ? text.slice(0, -1) : text);
    made.set(field, { name: `${resource}.${field}`, type, isRequired });
  }
  for (const [name, { allowance, type }] of Object.entries(undeclaredFields)) {
    const [of, field = ''] = name.split('.');
    if (of !== resource) continue;
    made.set(field, { name, type: parseType(type), isRequired: false, allowance });
  }
  parsed.set(fields, made);
  return made;
}
