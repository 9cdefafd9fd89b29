import type pg from 'pg';
import { whereOf } from '../pg/errors.ts';
import { withClient } from './migrations.ts';
import { complaintsAboutHarm, readCircumstances } from './harm.ts';
import type { Circumstances } from './harm.ts';
import { complaintAboutRights, complaintAboutServer, readState } from './migrate.ts';
import { readPrivileges } from './privileges.ts';
import type { RolePrivileges } from './privileges.ts';
import { complaintAbout } from './state.ts';
import type { SchemaState } from './state.ts';

/** State of a database, and whether this program can work with it. */
export interface DatabaseStatus {
  /** `role@host:port/database`. */
  readonly where: string;
  readonly server: {
    readonly version: string;
    /** The server is a standby, or set to read-only. */
    readonly readOnly: boolean;
  } & Circumstances;
  readonly schema: SchemaState;
  readonly rights: RolePrivileges;
  readonly sessions: readonly SessionStatus[];
  /** Rows by kind; kinds whose table is missing or unreadable are left out. */
  readonly counts: Readonly<Record<string, number>>;
  /** What must be done before a daemon can work; may be empty. */
  readonly problems: readonly string[];
  /** What should be done. */
  readonly warnings: readonly string[];
}
export interface SessionStatus {
  readonly component: string;
  readonly runtimeInfo: string;
  readonly createdAtMs: number;
  /** Time until the session dies unless extended. */
  readonly remainingMs: number;
}

/**
 * Reads the state without changing anything.
 * @param poolMax connections for work of each daemon.
 * @throws {Unreachable}
 * @throws {Denied} the role may not even connect.
 * @throws {NotFound} there is no such database.
 */
export async function readStatus(url: string, poolMax: number): Promise<DatabaseStatus> {
  return withClient(url, 'look at the database', async (client) => {
    const server = await readServer(client);
    const schema = await readState(client);
    const rights = await readPrivileges(client, server.role);
    const old = await complaintAboutServer(client);
    const problems = [
      old,
      complaintAbout(schema),
      server.readOnly ? 'the server is read-only; a daemon needs the primary' : null,
      rights.missing.length > 0 ? complaintAboutRights(server.role, rights.missing) : null,
    ];
    const sessions = await readSessions(client);
    const circumstances = await readCircumstances(client);
    const daemons = sessions.length;
    const { version, readOnly } = server;
    return {
      where: whereOf(url),
      server: { version, readOnly, ...circumstances },
      schema,
      rights,
      sessions,
      counts: await readCounts(client),
      problems: problems.filter((each) => each !== null),
      warnings: [
        ...complaintAboutExcess(rights),
        ...complaintsAboutHarm(circumstances, { daemons, poolMax }),
      ],
    };
  });
}

const complaintAboutExcess = ({ role, excess }: RolePrivileges): string[] =>
  excess.length === 0
    ? []
    : [
        `the role "${role}" has more rights than a daemon needs (${excess.join(', ')}), and so ` +
          'could change the schema or rewrite history; let daemons use another role (--grant-to)',
      ];

async function readServer(client: pg.ClientBase) {
  const { rows } = await client.query<{ version: string; role: string; readOnly: boolean }>(
    `SELECT current_setting('server_version') AS version, current_user::text AS role,
       current_setting('transaction_read_only')::bool AS "readOnly"`,
  );
  return rows[0]!;
}

async function mayRead(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rows } = await client.query<{ may: boolean | null }>(
    `SELECT has_table_privilege(to_regclass($1)::oid, 'SELECT') AS may`,
    [`public.${table}`],
  );
  return rows[0]!.may === true;
}

async function readSessions(client: pg.ClientBase): Promise<SessionStatus[]> {
  if (!(await mayRead(client, 'sessions'))) return [];
  const { rows } = await client.query<SessionStatus>(
    `SELECT session_component_name AS component, session_runtime_info AS "runtimeInfo",
       extract(epoch FROM session_created_at)::float8 * 1000 AS "createdAtMs",
       round(extract(epoch FROM session_deadline - now()) * 1000)::float8 AS "remainingMs"
     FROM sessions WHERE session_deadline > now() ORDER BY session_created_at, session_id`,
  );
  return rows;
}

/** Kind, table and condition. Only tables of the first version of the schema. */
const COUNTED: readonly (readonly [kind: string, table: string, which: string])[] = [
  ['machines', 'machines', 'true'],
  ['provided', 'machine_provided', 'true'],
  ['agents started', 'machine_agent_started', 'true'],
  ['quarantined', 'machine_quarantined', 'until IS NULL OR until > now()'],
  [
    'being worked on',
    'work',
    'session_id IN (SELECT session_id FROM sessions WHERE session_deadline > now())',
  ],
  ['waiting after a failure', 'work_backoff', 'until > now()'],
  ['recovery permits', 'recovery_permits', 'true'],
  ['unfinished creations', 'provision_intents', `state IN ('open', 'unresolved')`],
];

async function readCounts(client: pg.ClientBase): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const [kind, table, which] of COUNTED) {
    if (!(await mayRead(client, table))) continue;
    const { rows } = await client.query<{ n: string }>(
      `SELECT count(*) AS n FROM ${table} WHERE ${which}`,
    );
    counts[kind] = Number(rows[0]!.n);
  }
  return counts;
}
