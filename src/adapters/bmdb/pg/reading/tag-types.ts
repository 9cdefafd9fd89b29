import { createHash } from 'node:crypto';
import pg from 'pg';
import { tagName } from '../../reflection/fields.ts';
import type { SchemaDescription, TagType } from '../../port.ts';
import { knownMigrations } from '../../schema/migrations.ts';
import { compareSchema } from '../../schema/state.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { named, statement } from '../statement.ts';

/**
 * Reads one tag of a page of machines: every column but `machine_id`, in order, as text. The SQL is
 * built on demand, because the schema defines which tags exist.
 */
export function tagStatement({ table, columns }: Pick<TagType, 'table' | 'columns'>) {
  const fields = columns.map(({ name, type }) => asText(`t.${pg.escapeIdentifier(name)}`, type));
  const text = (first: string, last: string) =>
    `SELECT t.machine_id, to_jsonb(ARRAY[${fields.join(', ')}]::text[]) AS fields
     FROM ${pg.escapeIdentifier(table)} t WHERE t.machine_id BETWEEN ${first} AND ${last}`;
  // The name includes a digest of the columns, so that a plan for other columns is never reused.
  const digest = createHash('sha256').update(text('', '')).digest('hex').slice(0, 16);
  return statement({
    name: `inspect-tag-${digest}`,
    params: { first: 'uuid', last: 'uuid' },
    columns: { machine_id: 'uuid', fields: 'jsonb' },
    text: ({ first, last }) => text(first, last),
  });
}

/** See `inspectField` for the forms. */
function asText(column: string, type: string): string {
  if (type === 'timestamptz') return `(${ms(column)})::text`;
  return type === 'bytea' ? `encode(${column}, 'hex')` : `${column}::text`;
}

export const statements = named('inspect', {
  appliedMigrations: statement({
    name: 'inspect-migrations',
    columns: { name: 'text' },
    text: () => `SELECT m.name::text AS name FROM schema_migrations m ORDER BY m.id`,
  }),
  /** A table is a tag if `machine_id` is its whole primary key: at most one row per machine. */
  tagColumns: statement({
    columns: { table: 'text', name: 'text', type: 'text' },
    text: () => `
      SELECT c.table_name::text AS table, c.column_name::text AS name, c.udt_name::text AS type
      FROM information_schema.columns c
        JOIN pg_constraint k
          ON k.conrelid = to_regclass(quote_ident(c.table_schema) || '.' || quote_ident(c.table_name))
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = 'machine_id'
      WHERE c.table_schema = 'public' AND c.table_name LIKE 'machine\\_%'
        AND k.contype = 'p' AND k.conkey = ARRAY[a.attnum]
      ORDER BY c.table_name, c.ordinal_position`,
  }),
  /** An example of the built statements, so that their form is checked like the others. */
  tagExample: tagStatement({
    table: 'machine_agent_started',
    columns: [
      { name: 'agent_started_at', type: 'timestamptz' },
      { name: 'agent_public_key', type: 'bytea' },
    ],
  }),
});

/** See `BmdbInspection.schema`; runs in the caller's snapshot. */
export async function readSchema(q: Queries): Promise<SchemaDescription> {
  const applied = await q.rows(statements.appliedMigrations, {});
  const { version } = compareSchema(
    applied.map((row) => row.name),
    await knownMigrations(),
  );
  return { version, tagTypes: await readTagTypes(q) };
}

/** The database's tags with their columns, except `machine_id`. */
export async function readTagTypes(q: Pick<Queries, 'rows'>): Promise<TagType[]> {
  const rows = await q.rows(statements.tagColumns, {});
  return [...Map.groupBy(rows, (row) => row.table)].map(([table, columns]) => ({
    name: tagName(table),
    table,
    columns: columns
      .filter(({ name }) => name !== 'machine_id')
      .map(({ name, type }) => ({ name, type })),
  }));
}
