import pg from 'pg';
import { translate } from '../pg/errors.ts';
import type { Passwords } from './data-directory.ts';

/** Owns everything and has all rights; creates and changes the schema. */
export const OWNER_ROLE = 'shepherd_owner';
/** Role of daemons; `migrate` grants its rights. */
export const RUNNING_ROLE = 'shepherd';
/** URL of the cluster for a role with this password. */
type UrlOf = (role: string, password: string) => string;

/**
 * Ensures that the cluster has both roles, each with its own password. May be interrupted and
 * repeated.
 * @throws {Unreachable}
 */
export async function ensureRoles(urlOf: UrlOf, { running, owner }: Passwords): Promise<void> {
  try {
    await withClient(urlOf(OWNER_ROLE, owner), async (client) => {
      const found = await client.query(`SELECT 1 FROM pg_roles WHERE rolname = $1`, [RUNNING_ROLE]);
      if (found.rowCount !== 0) return;
      const secret = pg.escapeLiteral(running);
      await client.query(`CREATE ROLE ${RUNNING_ROLE} LOGIN NOSUPERUSER PASSWORD ${secret}`);
    });
  } catch (error) {
    throw translate(error, 'set up the roles of the embedded database');
  }
}

async function withClient(url: string, use: (client: pg.Client) => Promise<unknown>) {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await use(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
