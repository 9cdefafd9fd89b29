import type { MachineId, ProviderName, SessionId, Witness } from '../../../domain/ids.ts';
import type { Process, ProviderStatus, QuarantineKind } from '../../../domain/machine.ts';
import type { StandingRung } from '../../../domain/recovery/rungs.ts';
import { plainText } from '../../../lib/texts.ts';

/**
 * SQL whose parameters and columns are declared once. TypeScript infers their types from the
 * declaration, and `test/adapters/bmdb/pg/statements.test.ts` compares it with PostgreSQL's
 * description of the statement on the real schema. So a wrong column or type fails before it runs.
 */
export interface Statement<P extends Params = Params, C extends Columns = Columns> {
  /** Unique; the server keeps the plan under this name. */
  readonly name: string;
  readonly text: string;
  readonly params: P;
  readonly columns: C;
}

/**
 * PostgreSQL types of `$1`, `$2`, …, by name and in order. `?`: may be null or absent; `[]`: an
 * array. `Fields`: a list of items, which the statement reads as rows.
 */
export type Params = Readonly<Record<string, ParamType | Fields>>;
export type Columns = Readonly<Record<string, ColumnType>>;
/** Fields of each item by their names here; in SQL the names have underscores. */
export type Fields = Readonly<Record<string, Nullable<Scalar<ParamTypes>>>>;

/**
 * Values accepted for parameters. Answers of machines and providers end up in causes and reasons,
 * and a text that cannot be stored must never keep a failure from being recorded. So every `text`
 * is made plain and capped; `raw` is sent unchanged.
 */
interface ParamTypes {
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

/**
 * Values that come back. Enums are plain text: the database may have values that this program does
 * not know.
 */
interface ColumnTypes {
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
  /** The ids of `domain/ids.ts`. */
  machine: MachineId;
  session: SessionId;
  witness: Witness;
  provider: ProviderName;
}

type Scalar<Known> = keyof Known & string;
type Nullable<T extends string> = T | `${T}?`;
export type ParamType = Nullable<Scalar<ParamTypes> | `${Nullable<Scalar<ParamTypes>>}[]`>;
export type ColumnType = Nullable<Scalar<ColumnTypes> | `${'uuid' | 'text' | 'float8' | 'int8'}[]`>;

declare const told: unique symbol;
/** Narrows a column's type beyond PostgreSQL's: `'text' as As<'text', HoldKind>`. */
export type As<Type extends string, Value> = Type & { readonly [told]: Value };

type ColumnValue<T extends string, Known> = T extends { readonly [told]: infer Value }
  ? Value
  : T extends `${infer Inner}?`
    ? ColumnValue<Inner, Known> | null
    : T extends `${infer Inner}[]`
      ? readonly ColumnValue<Inner, Known>[]
      : T extends keyof Known
        ? Known[T]
        : never;
type ArgOf<T> = T extends string
  ? ColumnValue<T, ParamTypes>
  : T extends Fields
    ? readonly ArgsOf<T>[]
    : never;
/** Values of a statement's parameters by name, or of an item's fields. */
export type ArgsOf<P extends Params> = {
  readonly [Name in keyof P as P[Name] extends `${string}?` ? never : Name]: ArgOf<P[Name]>;
} & {
  readonly [Name in keyof P as P[Name] extends `${string}?` ? Name : never]?:
    | ArgOf<P[Name]>
    | undefined;
};
/** One row of a statement's answer. */
export type RowOf<C extends Columns> = {
  readonly [Name in keyof C]: ColumnValue<C[Name], ColumnTypes>;
};

const ALIASES: Readonly<Record<string, string>> = {
  ...{ raw: 'text', machine: 'uuid', session: 'uuid', witness: 'uuid', provider: 'text' },
};
/** A PostgreSQL type as SQL writes it: `uuid[]`. */
export const sqlType = (type: string): string =>
  type.replaceAll('?', '').replace(/^\w+/, (name) => ALIASES[name] ?? name);

const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Parameters as sent: for items, one array for each field. */
type Sent = readonly [param: string, type: string, field: string | null];
const flattened = (params: Params): readonly Sent[] =>
  Object.entries(params).flatMap(([name, type]): Sent[] =>
    typeof type === 'string'
      ? [[name, type, null]]
      : Object.entries(type).map(([field, each]): Sent => [name, `${each}[]`, field]),
  );

/** Types of `$1`, `$2`, …, as SQL writes them. */
export const paramTypes = (params: Params): string[] =>
  flattened(params).map(([, type]) => sqlType(type));

type Nothing = Readonly<Record<never, never>>;

/** A statement without its name. */
export type UnnamedStatement<P extends Params = Params, C extends Columns = Columns> = Omit<
  Statement<P, C>,
  'name'
>;
interface Definition<P extends Params, C extends Columns> {
  /** Absent: no parameters. */
  readonly params?: P;
  /** Absent: the statement returns no rows. */
  readonly columns?: C;
  readonly text: (params: { readonly [Name in keyof P]: string }) => string;
}

/**
 * Declares a statement; without a name, `named` supplies one.
 * @param text receives `$n::type` for each parameter by name. For items it receives a FROM item
 *   with the parameter's name: one row per item, with its fields and `nth`, from 1.
 */
export function statement<const P extends Params = Nothing, const C extends Columns = Nothing>(
  definition: Definition<P, C> & { readonly name: string },
): Statement<P, C>;
export function statement<const P extends Params = Nothing, const C extends Columns = Nothing>(
  definition: Definition<P, C>,
): UnnamedStatement<P, C>;
export function statement<P extends Params, C extends Columns>(
  definition: Definition<P, C> & { readonly name?: string },
): UnnamedStatement<P, C> {
  const { name, params = {} as P, columns = {} as C } = definition;
  const places = flattened(params).map(([param, type, field], at): Sent => [
    param,
    `$${at + 1}::${sqlType(type)}`,
    field,
  ]);
  const sql = [...Map.groupBy(places, ([param]) => param)].map(([param, group]) => [
    param,
    group[0]![2] === null ? group[0]![1] : rowsOf(param, group),
  ]);
  const text = definition.text(Object.fromEntries(sql) as { [Name in keyof P]: string });
  return { ...(name !== undefined && { name }), params, columns, text };
}

/** Names statements that have no name, by the prefix and their key: `work-end-all`. */
export const named = <const R extends Readonly<Record<string, UnnamedStatement>>>(
  prefix: string,
  drafts: R,
) =>
  Object.fromEntries(
    Object.entries(drafts).map(([key, draft]) => [
      key,
      { name: [prefix, snake(key).replaceAll('_', '-')].join('-'), ...draft },
    ]),
  ) as unknown as NamedStatements<R>;
type NamedStatements<R> = {
  readonly [Key in keyof R]: R[Key] extends UnnamedStatement<infer P, infer C>
    ? Statement<P, C>
    : never;
};

const rowsOf = (param: string, group: readonly Sent[]) => {
  const names = [...group.map(([, , field]) => snake(field!)), 'nth'];
  return `unnest(${group.map(([, place]) => place).join(', ')}) WITH ORDINALITY
    AS ${snake(param)} (${names.map((name) => `"${name}"`).join(', ')})`;
};

/** Columns to read from each row: name, type and expression. */
export function selection<
  const S extends Readonly<Record<string, readonly [type: ColumnType, sql: string]>>,
>(of: S) {
  const all = Object.entries(of);
  return {
    /** For `columns` of a statement. */
    columns: Object.fromEntries(all.map(([name, [type]]) => [name, type])) as {
      readonly [Name in keyof S]: S[Name][0];
    },
    /** For SELECT and RETURNING. */
    sql: all.map(([name, [, sql]]) => `${sql} AS "${name}"`).join(', '),
  };
}

/** Creates the value of each object, such as a policy, on first use. */
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
): unknown[] => {
  const given = args as Readonly<Record<string, unknown>>;
  return flattened(params).map(([name, type, field]) => {
    const value = field === null ? given[name] : (given[name] as Items).map((item) => item[field]);
    if (type === 'bytea[]') return byteaArray(value as readonly Uint8Array[]);
    return type.startsWith('text') ? plainly(value) : (value ?? null);
  });
};
type Items = readonly Readonly<Record<string, unknown>>[];

/** A text, an array of texts, or null. */
const plainly = (given: unknown): unknown => {
  if (Array.isArray(given)) return given.map(plainly);
  return typeof given === 'string' ? plainText(given) : (given ?? null);
};

const BYTEA_OID = 17;
const ARRAY_HEAD_BYTES = 20;
const LENGTH_BYTES = 4;

/** An array in the protocol's binary format, which is half as long as the text format. */
function byteaArray(items: readonly Uint8Array[]): Buffer {
  const sizeBytes = items.reduce((sum, item) => sum + LENGTH_BYTES + item.length, 0);
  const array = Buffer.alloc(ARRAY_HEAD_BYTES + sizeBytes);
  // One dimension, no nulls, and indices start at 1.
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
