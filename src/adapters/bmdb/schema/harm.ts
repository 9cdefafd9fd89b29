import pg from 'pg';

/** Tables that the server never analysed; `c` is the table's row of `pg_class`. */
export const NEVER_ANALYSED = `c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
  AND c.reltuples < 0`;

/**
 * Analyses tables that the server never analysed: new ones, and those of a restored backup. The
 * server assumes a few pages of rows for each, and none for tables it analysed while empty. A join
 * of both kinds was seen with an estimate of 5 × 10^15 rows.
 * @param client of the role that owns the tables.
 */
export async function analyseTables(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE ${NEVER_ANALYSED} ORDER BY 1`,
  );
  if (rows.length === 0) return;
  const names = rows.map(({ name }) => pg.escapeIdentifier(name));
  // A table that is locked now may be under analysis already; nobody waits for that.
  await client.query(`ANALYZE (SKIP_LOCKED) ${names.join(', ')}`);
}

/** Settings of a server, a database and a role that a daemon cannot set for itself. */
export interface Circumstances {
  readonly fsync: boolean;
  /** If off, nothing removes deleted rows or measures the size of tables. */
  readonly autovacuum: boolean;
  readonly encoding: string;
  /** Still on after we switched it off. */
  readonly jit: boolean;
  /** Maximum connections of this role to this database. */
  readonly connections: number;
  /** Names of tables with rows that the server never analysed. */
  readonly neverAnalysed: readonly string[];
}

/** Connections besides `database.poolMax`: for the session, for heartbeats and for wakes. */
const CONNECTIONS_BESIDE = 6;

/** @param client a connection with our settings. */
export async function readCircumstances(client: pg.ClientBase): Promise<Circumstances> {
  const { rows } = await client.query<Circumstances>(
    `SELECT current_setting('fsync')::bool AS fsync,
       current_setting('autovacuum')::bool AND current_setting('track_counts')::bool AS autovacuum,
       current_setting('server_encoding') AS encoding,
       coalesce(current_setting('jit', true)::bool, false) AS jit,
       least(
         current_setting('max_connections')::int4
           - current_setting('superuser_reserved_connections')::int4
           - coalesce(current_setting('reserved_connections', true)::int4, 0),
         (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
         (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)
       ) AS connections,
       ARRAY(SELECT c.relname::text FROM pg_class c
         WHERE ${NEVER_ANALYSED} AND pg_relation_size(c.oid) > 0 ORDER BY 1) AS "neverAnalysed"`,
  );
  return rows[0]!;
}

/**
 * Returns which settings harm a daemon, with advice.
 * @param daemons number that use this database now; one if there is none.
 * @param poolMax `database.poolMax` of each.
 */
export function complaintsAboutHarm(
  found: Circumstances,
  { daemons, poolMax }: { readonly daemons: number; readonly poolMax: number },
): string[] {
  const needed = (poolMax + CONNECTIONS_BESIDE) * Math.max(1, daemons);
  const complaints: readonly (readonly [isHarm: boolean, says: string])[] = [
    [!found.fsync, 'fsync is off: acknowledged writes may be lost in a crash of the server'],
    [
      !found.autovacuum,
      'autovacuum (or track_counts) is off: tables grow without limit, and statements become slow; ' +
        'switch both on',
    ],
    [
      found.encoding !== 'UTF8',
      `the database's encoding is ${found.encoding}, which may reject or cut names and messages of ` +
        'machines; create one in UTF8 (CREATE DATABASE … ENCODING UTF8 TEMPLATE template0)',
    ],
    [
      found.jit,
      'jit stays on although Shepherd switched it off: a proxy before the database shares ' +
        'connections or drops settings, and large statements may take seconds; give the server ' +
        'itself in database.url, or switch jit off for the role',
    ],
    [
      found.connections < needed,
      `this role may have ${found.connections} connections, and ${daemons || 1} ` +
        `${daemons > 1 ? 'daemons use' : 'daemon uses'} up to ${needed}; raise max_connections (or ` +
        'the limit of the role or the database), or lower database.poolMax',
    ],
    [
      found.neverAnalysed.length > 0,
      `the server never analysed ${found.neverAnalysed.join(', ')}, and may choose slow ways to ` +
        'read them; run "shepherd db migrate", which analyses them',
    ],
  ];
  return complaints.filter(([isHarm]) => isHarm).map(([, says]) => says);
}
