import pg from 'pg';
import { sqlState, translate } from '../pg/errors.ts';
import type { Passwords } from './data-directory.ts';

/** Owns everything and may do everything; makes and changes the schema. */
export const OWNER_ROLE = 'shepherd_owner';
/** What a daemon uses; rights are given to it by `migrate`. */
export const RUNNING_ROLE = 'shepherd';
/** Exists only while a role is renamed that cannot rename itself. */
const HELPER_ROLE = 'shepherd_rename';

/** Address of the cluster for a role with that password. */
type UrlOf = (role: string, password: string) => string;

/**
 * Makes sure that the cluster has both roles, each with its own password. In clusters of early
 * versions the running role was the owner, and is renamed; in those of later ones the owner had the
 * running role's password. Can be interrupted anywhere and begun again.
 * @throws {Unreachable}
 */
export async function ensureRoles(urlOf: UrlOf, { running, owner }: Passwords): Promise<void> {
  const ownerUrl = urlOf(OWNER_ROLE, owner);
  try {
    if (!(await canConnect(ownerUrl))) await adoptOldOwner(urlOf, { running, owner });
    await withClient(ownerUrl, async (client) => {
      await client.query(`DROP ROLE IF EXISTS ${HELPER_ROLE}`);
      await makeRole(client, RUNNING_ROLE, 'NOSUPERUSER', running);
    });
  } catch (error) {
    throw translate(error, 'set up the roles of the embedded database');
  }
}

async function adoptOldOwner(urlOf: UrlOf, { running, owner }: Passwords): Promise<void> {
  const ownerUrl = urlOf(OWNER_ROLE, running);
  if (!(await canConnect(ownerUrl))) await renameOldOwner(urlOf, running);
  await withClient(ownerUrl, (old) =>
    old.query(`ALTER ROLE ${OWNER_ROLE} PASSWORD ${pg.escapeLiteral(owner)}`),
  );
}

async function renameOldOwner(urlOf: UrlOf, password: string): Promise<void> {
  await withClient(urlOf(RUNNING_ROLE, password), (old) =>
    makeRole(old, HELPER_ROLE, 'SUPERUSER', password),
  );
  await withClient(urlOf(HELPER_ROLE, password), (helper) =>
    helper.query(`ALTER ROLE ${RUNNING_ROLE} RENAME TO ${OWNER_ROLE}`),
  );
}

async function makeRole(
  client: pg.Client,
  role: string,
  power: 'SUPERUSER' | 'NOSUPERUSER',
  password: string,
): Promise<void> {
  const { rowCount } = await client.query(`SELECT 1 FROM pg_roles WHERE rolname = $1`, [role]);
  if (rowCount !== 0) return;
  const secret = pg.escapeLiteral(password);
  await client.query(`CREATE ROLE ${role} LOGIN ${power} PASSWORD ${secret}`);
}

/** False when there is no such role; a server that asks for passwords does not say which is wrong. */
async function canConnect(url: string): Promise<boolean> {
  try {
    await withClient(url, () => Promise.resolve());
    return true;
  } catch (error) {
    if (sqlState(error)?.startsWith('28')) return false;
    throw error;
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
