import type pg from 'pg';
import { UsageError } from '../../../domain/errors.ts';

/** The database comment that marks a throw-away database. */
export const THROW_AWAY = 'throw-away';

/**
 * The BMDB is the only record of which devices are ours. So it may be deleted only if nothing can
 * be lost. Nobody works with it, and it records no machine, or an authorized person has marked it
 * in the database itself.
 * @param name the database's name as the caller gave it.
 * @throws {UsageError} names the obstacle.
 */
export async function refuseUnlessThrowAway(client: pg.ClientBase, name: string): Promise<void> {
  const database = await readDatabase(client);
  if (database.name !== name) {
    throw new UsageError(`the database is called "${database.name}", not "${name}"`);
  }
  // From here on, nobody opens or extends a session.
  await client.query('LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE');
  const { sessions, machines, intents, records } = await readCounts(client);
  if (sessions > 0) {
    throw new UsageError(`${sessions} live sessions use the database "${name}"; stop them first`);
  }
  if (machines + intents + records > 0 && database.comment !== THROW_AWAY) {
    const mark = `COMMENT ON DATABASE "${name}" IS '${THROW_AWAY}'`;
    throw new UsageError(
      `the database "${name}" is the only record of ${machines} machines, ${intents} unfinished ` +
        `creations and ${records} records of drivers; if they are worthless, its owner must mark it first: ${mark}`,
    );
  }
}

async function readDatabase(client: pg.ClientBase) {
  const { rows } = await client.query<{ name: string; comment: string | null }>(
    `SELECT datname::text AS name, shobj_description(oid, 'pg_database') AS comment
     FROM pg_database WHERE datname = current_database()`,
  );
  return rows[0]!;
}

async function readCounts(client: pg.ClientBase) {
  const { rows } = await client.query<
    Record<'sessions' | 'machines' | 'intents' | 'records', number>
  >(
    `SELECT (SELECT count(*)::int4 FROM sessions WHERE session_deadline > now()) AS sessions,
       (SELECT count(*)::int4 FROM machines) AS machines,
       (SELECT count(*)::int4 FROM provision_intents
        WHERE state IN ('open', 'unresolved')) AS intents,
       (SELECT count(*)::int4 FROM provider_records) AS records`,
  );
  return rows[0]!;
}
