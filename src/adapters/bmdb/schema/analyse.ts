import pg from 'pg';

/** Tables that the server never looked at; `c` is the table's row of `pg_class`. */
export const NEVER_ANALYSED = `c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
  AND c.reltuples < 0`;

/**
 * Looks at the tables that the server never looked at: fresh ones, and those of a restored backup.
 * It takes each for a few pages of rows and others, which it did look at, for empty, and a join of
 * both kinds was seen to promise 5 × 10^15 rows.
 * @param client of the role that owns the tables.
 */
export async function analyseTables(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE ${NEVER_ANALYSED} ORDER BY 1`,
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => pg.escapeIdentifier(name));
  // Whatever has a table locked now may be analysing it; nobody waits for that.
  await client.query(`ANALYZE (SKIP_LOCKED) ${names.join(', ')}`);
}
