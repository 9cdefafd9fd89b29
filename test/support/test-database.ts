import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with a `SharedPostgres`. */
    sharedPostgres: string;
  }
}

/** The server that all tests of a run share. */
export interface SharedPostgres {
  readonly url: string;
  readonly ownerUrl: string;
  /** That daemons have; has no rights but on the template and its copies. */
  readonly role: string;
  /** Name of a migrated database. */
  readonly template: string;
}

/** A migrated database on the shared server. */
export interface TestDatabase {
  /** Of a running role that only this database has: it may be shut out and set up as a test likes. */
  readonly url: string;
  /** Of the role that owns the schema, here and in every other test's database. */
  readonly ownerUrl: string;
  /** Name of the running role. */
  readonly role: string;
  /** Ends its connections and removes it. */
  stop(): Promise<void>;
}

/**
 * A database of its own for a file or a stand of tests. What concerns the whole server (its settings,
 * the owner's role, the number of its connections, which transactions are open in any database) is
 * shared with other tests: a test of that starts a server of its own, with `startTestPostgres`.
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
