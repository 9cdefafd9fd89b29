import type { Process, ProviderStatus, QuarantineKind } from '../../../domain/machine.ts';
import type { StandingRung } from '../../../domain/recovery/rungs.ts';
import { plainText } from '../../../lib/texts.ts';

/**
 * SQL whose parameters and columns are declared once: from the declaration TypeScript infers the
 * types of both, and `test/adapters/bmdb/pg/statements.test.ts` has PostgreSQL describe every
 * statement on the real schema and compares. So a wrong column or type fails before it is run.
 */
export interface Statement<P extends Params = Params, C extends Columns = Columns> {
  /** Unique; the server keeps the plan under this name. */
  readonly name: string;
  readonly text: string;
  readonly params: P;
  readonly columns: C;
}

/** By name, in the order of `$1`, `$2`, …: a type of PostgreSQL. `?` may be null, `[]` is an array. */
export type Params = Readonly<Record<string, ParamType>>;
export type Columns = Readonly<Record<string, ColumnType>>;

/**
 * What may be given for a parameter. What machines and providers answer ends up in causes and reasons,
 * and a text that cannot be stored must never keep a failure from being recorded: so every `text` is
 * made plain and capped. `raw` is a text that goes as it is.
 */
interface Given {
  uuid: string;
  text: string;
  raw: string;
  bool: boolean;
  int4: number;
  int8: string | number | bigint;
  float8: number;
  bytea: Uint8Array;
  jsonb: unknown;
  process: Process;
  work_history_event: 'Started' | 'Finished' | 'Failed' | 'Canceled';
  provider_status: ProviderStatus;
  machine_os_installation_result: 'Success' | 'Error';
  quarantine_kind: QuarantineKind;
  recovery_rung: StandingRung;
}

/** What comes back. Enums are plain text: the database may know values that this program does not. */
interface Answered {
  uuid: string;
  text: string;
  bool: boolean;
  int4: number;
  int8: string;
  float8: number;
  bytea: Buffer;
  json: unknown;
  jsonb: unknown;
  process: string;
  work_history_event: string;
  provider_status: string;
  machine_os_installation_result: string;
  quarantine_kind: string;
  recovery_rung: string;
  intent_state: string;
}

type Scalar<Known> = keyof Known & string;
type Nullable<T extends string> = T | `${T}?`;
export type ParamType = Nullable<Scalar<Given> | `${Nullable<Scalar<Given>>}[]`>;
export type ColumnType = Nullable<Scalar<Answered> | `${'uuid' | 'text' | 'float8' | 'int8'}[]`>;

type ValueOf<T extends string, Known> = T extends `${infer Inner}?`
  ? ValueOf<Inner, Known> | null
  : T extends `${infer Inner}[]`
    ? readonly ValueOf<Inner, Known>[]
    : T extends keyof Known
      ? Known[T]
      : never;

/** The values of a statement's parameters, by name. */
export type ArgsOf<P extends Params> = { readonly [Name in keyof P]: ValueOf<P[Name], Given> };
/** One row of a statement's answer. */
export type RowOf<C extends Columns> = { readonly [Name in keyof C]: ValueOf<C[Name], Answered> };

/** A type of PostgreSQL as SQL writes it: `uuid[]`. */
export const sqlType = (type: string): string => type.replaceAll('?', '').replace(/^raw/, 'text');

/**
 * Declares a statement.
 * @param text gets `$n::type` for each parameter, by its name.
 */
export function statement<const P extends Params, const C extends Columns>(definition: {
  readonly name: string;
  readonly params: P;
  readonly columns: C;
  readonly text: (params: { readonly [Name in keyof P]: string }) => string;
}): Statement<P, C> {
  const { name, params, columns } = definition;
  const places = Object.entries(params).map(([param, type], at): [string, string] => [
    param,
    `$${at + 1}::${sqlType(type)}`,
  ]);
  const text = definition.text(Object.fromEntries(places) as { [Name in keyof P]: string });
  return { name, params, columns, text };
}

/** Declares fields of items. */
export const fields = <const F extends Params>(given: F): F => given;

/** Fields of several items that one statement is about: each is a parameter with the values of all. */
type Arrays<F extends Params> = { readonly [Name in keyof F]: `${F[Name] & string}[]` };
export const arraysOf = <const F extends Params>(fields: F) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, type]) => [name, `${type}[]`]),
  ) as Arrays<F>;

/** The values of such fields. */
export const valuesOfAll = <F extends Params>(
  named: F,
  items: readonly ArgsOf<F>[],
): Readonly<Record<string, readonly unknown[]>> =>
  Object.fromEntries(Object.keys(named).map((name) => [name, items.map((item) => item[name])]));

/** An item of FROM, `step`, with a row for each. @param arrays the parameters, by name. */
export const stepsFrom = (arrays: Readonly<Record<string, string>>): string =>
  `unnest(${Object.values(arrays).join(', ')})
    AS step (${Object.keys(arrays)
      .map((name) => `"${name}"`)
      .join(', ')})`;

/** What is made for each object, such as a policy, when it is first asked for. */
export function madeOnce<Key extends object, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new WeakMap<Key, Made>();
  return (key) => {
    const found = made.get(key) ?? make(key);
    made.set(key, found);
    return found;
  };
}

/** Values in the order of the parameters. */
export const valuesOf = <P extends Params, C extends Columns>(
  { params }: Statement<P, C>,
  args: ArgsOf<P>,
): unknown[] =>
  Object.entries(params).map(([name, type]) => {
    if (type === 'bytea[]') return byteaArray(args[name] as readonly Uint8Array[]);
    return type.startsWith('text') ? plainly(args[name]) : args[name];
  });

/** A text, several, or null. */
const plainly = (given: unknown): unknown =>
  Array.isArray(given) ? given.map(plainly) : typeof given === 'string' ? plainText(given) : given;

const BYTEA_OID = 17;
const ARRAY_HEAD_BYTES = 20;
const LENGTH_BYTES = 4;

/** An array in the binary format of the protocol, which is half as long as its text. */
function byteaArray(items: readonly Uint8Array[]): Buffer {
  const sizeBytes = items.reduce((sum, item) => sum + LENGTH_BYTES + item.length, 0);
  const array = Buffer.alloc(ARRAY_HEAD_BYTES + sizeBytes);
  // One dimension, no nulls, and its items count from 1.
  array.writeInt32BE(1, 0);
  array.writeInt32BE(BYTEA_OID, 8);
  array.writeInt32BE(items.length, 12);
  array.writeInt32BE(1, 16);
  let at = ARRAY_HEAD_BYTES;
  for (const item of items) {
    array.writeInt32BE(item.length, at);
    array.set(item, at + LENGTH_BYTES);
    at += LENGTH_BYTES + item.length;
  }
  return array;
}
