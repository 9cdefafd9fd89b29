import type pg from 'pg';
import { TABLE } from './migrations.ts';

/** Rights of a daemon's role on most tables. */
const EVERYTHING = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'] as const;
type Privilege = (typeof EVERYTHING)[number];
/** Its rights on the others: history can be added to, and the schema can only be read. */
const LESS: Readonly<Record<string, readonly Privilege[]>> = {
  work_history: ['SELECT', 'INSERT'],
  slot_events: ['SELECT', 'INSERT'],
  fleet_events: ['SELECT', 'INSERT'],
  operator_intents: ['SELECT', 'INSERT'],
  ended_sessions: ['SELECT'],
  api_tokens: ['SELECT', 'INSERT'],
  [TABLE]: ['SELECT'],
};
/**
 * Columns that it may change in tables that it may not change otherwise. It may end or extend an
 * operator's request and revoke a token, but rewrite neither.
 */
const CHANGING: Readonly<Record<string, readonly string[]>> = {
  operator_intents: ['state', 'outcome', 'settled_at', 'parameters', 'expires_at'],
  api_tokens: ['last_used_at', 'revoked_at', 'revoked_by'],
};
/** The only ways to delete from append-only tables; the functions decide what may go. */
export const TRIM_FUNCTIONS = [
  'shepherd_trim_history(integer, integer, integer)',
  'shepherd_trim_logs(integer, integer, integer)',
  'shepherd_trim_events(integer, integer, integer)',
] as const;

/** Privileges that the running role needs on a table, and the only ones that it should have. */
export const neededOn = (table: string): readonly Privilege[] => LESS[table] ?? EVERYTHING;

/** Columns that the running role needs to change, where it must not change the table as a whole. */
export const changedIn = (table: string): readonly string[] => CHANGING[table] ?? [];

/** How the rights of a role differ from those that a daemon needs. */
export interface RolePrivileges {
  readonly role: string;
  /** For example `INSERT on machines`. The daemon cannot work. */
  readonly missing: readonly string[];
  /** For example `DELETE on work_history`. The daemon works, but a bug could use these. */
  readonly excess: readonly string[];
}

/** Compares the rights of a role (its own and by membership) with what the daemon needs. */
export async function readPrivileges(client: pg.ClientBase, role: string): Promise<RolePrivileges> {
  const powers = await readPowers(client, role);
  const rows = await readHeld(client, role);
  const missing = rows
    .filter((row) => !row.held && row.needed)
    .map((row) => `${row.privilege} on ${row.object}`);
  // A role with all rights is reported once, not table by table.
  const excess = rows
    .filter((row) => row.held && !row.needed)
    .map((row) => `${row.privilege} on ${row.object}`);
  return { role, missing, excess: powers.length > 0 ? powers : excess };
}

interface HeldPrivilege {
  readonly object: string;
  readonly privilege: string;
  readonly held: boolean;
  readonly needed: boolean;
}

async function readHeld(client: pg.ClientBase, role: string): Promise<HeldPrivilege[]> {
  const { rows } = await client.query<Omit<HeldPrivilege, 'needed'> & { kind: string }>(
    `SELECT 'table' AS kind, c.relname AS object, p AS privilege,
       has_table_privilege($1, c.oid, p) AS held
     FROM pg_class c CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE',
       'REFERENCES', 'TRIGGER']) AS p
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
     UNION ALL
     SELECT 'column', c.relname || '.' || a.attname, 'UPDATE',
       has_column_privilege($1, c.oid, a.attnum, 'UPDATE')
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT a.attisdropped AND NOT has_table_privilege($1, c.oid, 'UPDATE')
     UNION ALL
     SELECT 'sequence', c.relname, p, has_sequence_privilege($1, c.oid, p)
     FROM pg_class c CROSS JOIN unnest(ARRAY['USAGE', 'UPDATE']) AS p
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
       AND (p = 'UPDATE' OR NOT ${BELONGS_TO_COLUMN})
     UNION ALL
     SELECT 'function', proname || '()', 'EXECUTE', has_function_privilege($1, oid, 'EXECUTE')
     FROM pg_proc WHERE oid IN (${TRIM_FUNCTIONS.map((name) => `to_regprocedure('public.${name}')`).join(', ')})
     UNION ALL
     SELECT 'schema', 'schema public', p, has_schema_privilege($1, 'public', p)
     FROM unnest(ARRAY['USAGE', 'CREATE']) AS p
     UNION ALL
     SELECT 'database', 'the database', 'CREATE',
       has_database_privilege($1, current_database(), 'CREATE')
     ORDER BY 2, 3`,
    [role],
  );
  return rows.map(({ kind, ...row }) => ({ ...row, needed: isNeeded(kind, row) }));
}

/** Sequences of identity and serial columns (alias `c`) need no rights of their own to insert. */
export const BELONGS_TO_COLUMN = `EXISTS (SELECT 1 FROM pg_depend d
  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype IN ('a', 'i')
    AND d.refobjsubid > 0)`;

function isNeeded(kind: string, { object, privilege }: Omit<HeldPrivilege, 'needed'>): boolean {
  if (kind === 'table') return (neededOn(object) as readonly string[]).includes(privilege);
  if (kind === 'column') {
    const [table = '', column = ''] = object.split('.');
    return changedIn(table).includes(column);
  }
  return privilege === 'USAGE' || privilege === 'EXECUTE';
}

/** What lets a role change the schema, or bypass every grant. */
async function readPowers(client: pg.ClientBase, role: string): Promise<string[]> {
  const { rows } = await client.query<{ power: string }>(
    `SELECT 'being a superuser' AS power FROM pg_roles WHERE rolname = $1 AND rolsuper
     UNION ALL
     SELECT 'owning ' || count(*) || ' of the tables' FROM pg_class c
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
       AND pg_has_role($1, relowner, 'MEMBER') HAVING count(*) > 0
     UNION ALL
     SELECT 'making roles (CREATEROLE)' FROM pg_roles WHERE rolname = $1 AND rolcreaterole`,
    [role],
  );
  const powers = rows.map((row) => row.power);
  return powers.includes('being a superuser') ? ['being a superuser'] : powers;
}
