import pg from 'pg';
import { sqlState, translate } from '../pg/errors.ts';

/** Owns everything and may do everything; makes and changes the schema. */
export const OWNER_ROLE = 'shepherd_owner';
/** What a daemon uses; rights are given to it by `migrate`. */
export const RUNNING_ROLE = 'shepherd';
/** Exists only while a role is renamed that cannot rename itself. */
const HELPER_ROLE = 'shepherd_rename';

/**
 * Makes sure that the cluster has both roles, with this password: whoever may read the file that it
 * lies in owns the cluster anyway. In clusters of early versions the running role was the owner; it
 * is renamed. Can be interrupted anywhere and begun again.
 * @param urlOf address of the cluster for a role.
 * @throws {Unreachable}
 */
export async function ensureRoles(
  urlOf: (role: string) => string,
  password: string,
): Promise<void> {
  try {
    if (!(await canConnect(urlOf(OWNER_ROLE)))) await renameOldOwner(urlOf, password);
    await withClient(urlOf(OWNER_ROLE), async (owner) => {
      await owner.query(`DROP ROLE IF EXISTS ${HELPER_ROLE}`);
      await makeRole(owner, RUNNING_ROLE, 'NOSUPERUSER', password);
    });
  } catch (error) {
    throw translate(error, 'set up the roles of the embedded database');
  }
}

async function renameOldOwner(urlOf: (role: string) => string, password: string): Promise<void> {
  await withClient(urlOf(RUNNING_ROLE), (old) => makeRole(old, HELPER_ROLE, 'SUPERUSER', password));
  await withClient(urlOf(HELPER_ROLE), (helper) =>
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
