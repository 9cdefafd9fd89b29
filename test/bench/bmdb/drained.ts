import type pg from 'pg';

/** Asks until the query answers no rows: all jobs are completed in the database too. */
export async function drained(sql: pg.Pool, query: string, values: unknown[] = []): Promise<void> {
  while ((await sql.query(query, values)).rows.length > 0);
}
