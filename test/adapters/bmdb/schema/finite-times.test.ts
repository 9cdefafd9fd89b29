import { describe, expect, it } from 'vitest';
import { usePgServer } from '../pg/pg-harness.ts';

const server = usePgServer();

/** People write SQL too, and no program can calculate with `infinity`. */
describe('times', () => {
  it('are all finite', async () => {
    const { rows } = await server.sql.query<{ place: string; checked: boolean }>(
      `SELECT c.table_name || '.' || c.column_name AS place, EXISTS (
         SELECT 1 FROM pg_constraint k
         WHERE k.conrelid = format('%I', c.table_name)::regclass AND k.contype = 'c'
           AND pg_get_constraintdef(k.oid) = format('CHECK (isfinite(%I))', c.column_name)
       ) AS checked
       FROM information_schema.columns c
       WHERE c.table_schema = 'public' AND c.data_type = 'timestamp with time zone'
         AND c.table_name <> 'schema_migrations'`,
    );
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter(({ checked }) => !checked).map(({ place }) => place)).toEqual([]);
  });

  it.each([
    [
      `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason, until)
      VALUES ('metal', 'rack-1', 'no-start', 'me', 'x', 'infinity')`,
    ],
    [
      `INSERT INTO provider_holds (provider, kind, key, until, cause)
      VALUES ('metal', 'penalty', 'rack-1', '-infinity', 'x')`,
    ],
  ])('that never come are refused: %s', async (sql) => {
    await expect(server.sql.query(sql)).rejects.toMatchObject({ code: '23514' });
  });
});
