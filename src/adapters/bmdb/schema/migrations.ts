import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { MigrationBuilder } from 'node-pg-migrate';
import pg from 'pg';
import { translate, whereOf } from '../pg/errors.ts';
import { connectClient, createHosts } from '../pg/hosts.ts';

/** The `.sql` files lie beside this module, in the sources and in the published package alike. */
export const DIRECTORY = fileURLToPath(new URL('./migrations', import.meta.url));

/** Names of the migrations that this program knows, oldest first. */
export async function knownMigrations(): Promise<string[]> {
  const files = await readdir(DIRECTORY);
  return files
    .filter((name) => name.endsWith('.sql'))
    .map((name) => name.slice(0, -'.sql'.length))
    .sort();
}

/** Name of the newest migration that this program knows: the schema it works with. */
export async function latestMigration(): Promise<string> {
  return (await knownMigrations()).at(-1) ?? 'none';
}

/** Loads migrations, with their inline comments as database comments. */
export const loadMigrations = (files: string[]) =>
  Promise.all(
    files.map(async (file) => {
      const [up = '', down = ''] = (await readFile(file, 'utf8')).split(/^-- Down Migration$/m);
      return {
        id: file,
        filePaths: [file],
        actions: {
          up: (pgm: MigrationBuilder) => pgm.sql([up, ...commentsIn(up)].join('\n')),
          down: (pgm: MigrationBuilder) => pgm.sql(down),
        },
      };
    }),
  );

/** A comment at the end of the first line of a table or column becomes its database comment. */
function* commentsIn(sql: string): Iterable<string> {
  for (const [, table, first, body] of sql.matchAll(TABLES)) {
    yield `COMMENT ON TABLE ${table} IS ${pg.escapeLiteral(first!)};`;
    for (const [, column, text] of body!.matchAll(/^ {2}(\S+) .*?-- (.+)$/gm)) {
      yield `COMMENT ON COLUMN ${table}.${column} IS ${pg.escapeLiteral(text!)};`;
    }
  }
}

const TABLES = /^CREATE (?:UNLOGGED )?TABLE (\w+) \( -- (.+)\n((?: {2}.*\n)+)/gm;

/** Table of the applied migrations. */
export const TABLE = 'schema_migrations';

/**
 * Opens one connection for work on the schema, with our usual settings.
 * @param doing begins the message of errors: `could not …`.
 */
export async function withClient<T>(
  url: string,
  doing: string,
  fn: (client: pg.Client) => Promise<T>,
): Promise<T> {
  try {
    const client = await connectClient(
      createHosts(url),
      { connectionTimeoutMillis: 10_000 },
      { timeoutMs: null },
    );
    try {
      return await fn(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  } catch (error) {
    throw translate(error, doing, whereOf(url));
  }
}

/** Applied migrations, in the order of their application. */
export async function appliedMigrations(client: pg.ClientBase): Promise<string[]> {
  const found = await client.query<{ present: boolean }>(
    `SELECT to_regclass($1) IS NOT NULL AS present`,
    [`public.${TABLE}`],
  );
  if (!found.rows[0]?.present) return [];
  const rows = await client.query<{ name: string }>(`SELECT name FROM ${TABLE} ORDER BY id`);
  return rows.rows.map((row) => row.name);
}
