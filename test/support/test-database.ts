import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address that returns a `SharedPostgres`. */
    sharedPostgres: string;
  }
}

/** The server that all tests of a run share. */
export interface SharedPostgres {
  readonly url: string;
  readonly ownerUrl: string;
  /** The daemons' role. It has rights on the template and its copies only. */
  readonly role: string;
  /** Name of a migrated database. */
  readonly template: string;
}

/** A migrated database on the shared server. */
export interface TestDatabase {
  /** URL of this database's own running role: a test may lock it out and change it freely. */
  readonly url: string;
  /** URL of the role that owns the schema, here and in every other test's database. */
  readonly ownerUrl: string;
  /** Name of the running role. */
  readonly role: string;
  /** Ends its connections and removes the database. */
  stop(): Promise<void>;
}

/**
 * A separate database for a file or stand of tests. Everything of the whole server is shared with
 * other tests: settings, the owner's role, the number of connections, and open transactions. A test
 * of those starts its own server with `startTestPostgres`.
 */
export async function openTestDatabase(): Promise<TestDatabase> {
  const shared = await askForServer();
  const role = `shepherd_${randomBytes(8).toString('hex')}`;
  const password = randomBytes(16).toString('hex');
  await asOwner(
    shared,
    `CREATE ROLE ${role} LOGIN PASSWORD '${password}' IN ROLE ${shared.role}`,
    `CREATE DATABASE ${role} TEMPLATE ${shared.template}`,
  );
  const at = { pathname: `/${role}` };
  return {
    role,
    url: Object.assign(new URL(shared.url), { ...at, username: role, password }).href,
    ownerUrl: Object.assign(new URL(shared.ownerUrl), at).href,
    stop: () =>
      asOwner(
        shared,
        `DROP DATABASE IF EXISTS ${role} WITH (FORCE)`,
        `DROP ROLE IF EXISTS ${role}`,
      ),
  };
}

async function askForServer(): Promise<SharedPostgres> {
  const answer = await fetch(inject('sharedPostgres'));
  const text = await answer.text();
  if (!answer.ok) throw new Error(`no PostgreSQL for the tests: ${text}`);
  return JSON.parse(text) as SharedPostgres;
}

async function asOwner({ ownerUrl }: SharedPostgres, ...statements: string[]): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    for (const statement of statements) await owner.query(statement);
  } finally {
    await owner.end();
  }
}
