import pg from 'pg';
import { UsageError } from '../../../domain/errors.ts';
import {
  BELONGS_TO_COLUMN,
  changedIn,
  neededOn,
  readPrivileges,
  TRIM_FUNCTIONS,
} from './privileges.ts';

const quote = pg.escapeIdentifier;

/**
 * Gives a role exactly the rights that a daemon needs, and revokes all others. All or nothing;
 * idempotent. Call it under the lock of the migrations.
 * @throws {UsageError} there is no such role, or no grant can restrict it.
 */
export async function grantTo(client: pg.ClientBase, role: string): Promise<void> {
  await refuseRole(client, role);
  await client.query('BEGIN');
  try {
    for (const text of await statementsFor(client, role)) await client.query(text);
    const { missing, excess } = await readPrivileges(client, role);
    if (missing.length + excess.length > 0) throw new UsageError(remains(role, missing, excess));
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

const remains = (role: string, missing: readonly string[], excess: readonly string[]) =>
  `role "${role}" still has the wrong rights after granting: ` +
  [...missing.map((each) => `lacks ${each}`), ...excess.map((each) => `has ${each}`)].join(', ') +
  '; revoke the grants of other roles, or its memberships';

async function statementsFor(client: pg.ClientBase, role: string): Promise<string[]> {
  const to = quote(role);
  const { rows } = await client.query<{ name: string; kind: string }>(
    `SELECT relname AS name, relkind::text AS kind FROM pg_class c
     WHERE relnamespace = 'public'::regnamespace AND (relkind IN ('r', 'p')
       OR relkind = 'S' AND NOT ${BELONGS_TO_COLUMN})
     ORDER BY relname`,
  );
  const database = await client.query<{ name: string }>(`SELECT current_database() AS name`);
  const here = `DATABASE ${quote(database.rows[0]!.name)}`;
  return [
    // Databases created before version 15 let everybody create tables in this schema.
    `REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
    `REVOKE ALL ON SCHEMA public FROM ${to}`,
    `GRANT USAGE ON SCHEMA public TO ${to}`,
    `REVOKE CREATE, TEMPORARY ON ${here} FROM PUBLIC, ${to}`,
    `GRANT CONNECT ON ${here} TO ${to}`,
    `REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC, ${to}`,
    `REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM PUBLIC, ${to}`,
    ...rows.map(({ name, kind }) =>
      kind === 'S'
        ? `GRANT USAGE ON SEQUENCE ${quote(name)} TO ${to}`
        : `GRANT ${privilegesOn(name)} ON ${quote(name)} TO ${to}`,
    ),
    ...TRIM_FUNCTIONS.flatMap((name) => [
      `REVOKE ALL ON FUNCTION ${name} FROM PUBLIC`,
      `GRANT EXECUTE ON FUNCTION ${name} TO ${to}`,
    ]),
  ];
}

function privilegesOn(table: string): string {
  const columns = changedIn(table).map(quote).join(', ');
  return [...neededOn(table), ...(columns === '' ? [] : [`UPDATE (${columns})`])].join(', ');
}

async function refuseRole(client: pg.ClientBase, role: string): Promise<void> {
  const { rows } = await client.query<{ powerful: boolean; me: string; mine: boolean }>(
    `SELECT rolsuper AS powerful, current_user::text AS me,
       pg_has_role(rolname, current_user, 'MEMBER') AS mine
     FROM pg_roles WHERE rolname = $1`,
    [role],
  );
  const found = rows[0];
  if (!found) {
    const make = `CREATE ROLE ${quote(role)} LOGIN PASSWORD '…'`;
    throw new UsageError(`there is no role "${role}" to grant rights to; create it first: ${make}`);
  }
  if (found.powerful) {
    throw new UsageError(
      `role "${role}" is a superuser, which grants cannot restrict; give another role`,
    );
  }
  if (found.mine) {
    const why = `role "${role}" is the migrating role ("${found.me}"), or a member of it`;
    throw new UsageError(`${why}, and so has all rights; give another role for the daemons`);
  }
}
