import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkSchema, migrate } from '../../../../src/adapters/bmdb/schema/migrate.ts';
import { readPrivileges } from '../../../../src/adapters/bmdb/schema/privileges.ts';
import { silentLog } from '../../../../src/adapters/log/port.ts';
import { codeOf, explain } from '../../../../src/domain/errors.ts';
import { startOwnPgServer } from '../pg/pg-harness.ts';
import type { PgServer } from '../pg/pg-harness.ts';

let server: PgServer;
let running: pg.Pool;
beforeAll(async () => {
  server = await startOwnPgServer();
  running = new pg.Pool({ connectionString: server.url, max: 1 });
  await server.sql.query('INSERT INTO machines DEFAULT VALUES');
});
afterAll(async () => {
  await running.end();
  await server.stop();
});

const refusalOf = (call: Promise<unknown>) =>
  call.then(
    () => expect.fail('the call succeeded'),
    (error: unknown) => ({ code: codeOf(error), text: explain(error) }),
  );
async function privilegesOf(role: string) {
  const client = await server.sql.connect();
  try {
    return await readPrivileges(client, role);
  } finally {
    client.release();
  }
}

describe('the running role', () => {
  const forbidden = [
    'CREATE TABLE mine (a int)',
    'CREATE TEMPORARY TABLE mine (a int)',
    'CREATE SCHEMA mine',
    'CREATE INDEX ON machines (machine_created_at)',
    'CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$',
    'ALTER TABLE machines ADD COLUMN mine int',
    'ALTER TABLE work_history DISABLE TRIGGER ALL',
    'ALTER ROLE shepherd SUPERUSER',
    'DROP TABLE slot_holds',
    'DROP FUNCTION shepherd_wake CASCADE',
    'CREATE TRIGGER mine BEFORE INSERT ON work_history EXECUTE FUNCTION shepherd_wake()',
    'TRUNCATE machines CASCADE',
    `UPDATE work_history SET failed_cause = 'mine'`,
    'DELETE FROM work_history',
    'TRUNCATE work_history',
    'SELECT 1 FROM work_history FOR UPDATE',
    `UPDATE slot_events SET reason = 'mine'`,
    'DELETE FROM slot_events',
    'TRUNCATE slot_events',
    `UPDATE fleet_events SET reason = 'mine'`,
    'DELETE FROM fleet_events',
    'TRUNCATE fleet_events',
    `SELECT nextval('slot_events_seq_seq')`,
    ...[
      `actor = 'token:ann'`,
      `reason = 'mine'`,
      `verb = 'freeze'`,
      'created_at = now()',
      `role = 'admin'`,
      'proven = true',
      'machine_id = NULL',
    ].map((change) => `UPDATE operator_intents SET ${change}`),
    `UPDATE operator_intents SET state = 'done', settled_at = now(), actor = 'token:ann'`,
    'DELETE FROM operator_intents',
    'TRUNCATE operator_intents',
    'TRUNCATE provider_records',
    ...[
      `role = 'admin'`,
      `digest = sha256('mine')`,
      `expires_at = expires_at + interval '1 day'`,
      'parent_token_id = NULL',
    ].map((change) => `UPDATE api_tokens SET ${change}`),
    'DELETE FROM api_tokens',
    'TRUNCATE api_tokens',
    `INSERT INTO schema_migrations (name, run_on) VALUES ('mine', now())`,
    `UPDATE schema_migrations SET name = 'mine'`,
    'DELETE FROM schema_migrations',
    `SELECT setval('work_epoch', 1)`,
    'SET ROLE shepherd_owner',
    `COMMENT ON DATABASE postgres IS 'throw-away'`,
  ];
  it.each(forbidden)('may not: %s', async (text) => {
    await expect(running.query(text)).rejects.toMatchObject({ code: '42501' });
  });

  it('may append to history, read it, and draw sequence numbers', async () => {
    const machine = '00000000-0000-4000-8000-000000000001';
    await running.query(
      `INSERT INTO work_history (machine_id, process, event) VALUES ($1, 'UnitTest1', 'Started')`,
      [machine],
    );
    await running.query(
      `INSERT INTO slot_events (provider, slot_id, kind, actor) VALUES ('p', 's', 'k', 'a')`,
    );
    await running.query(`INSERT INTO fleet_events (type, actor) VALUES ('webhook.test', 'a')`);
    const { rows } = await running.query(
      `SELECT event, nextval('work_epoch') > 0 AS numbered FROM work_history WHERE machine_id = $1`,
      [machine],
    );
    expect(rows).toEqual([{ event: 'Started', numbered: true }]);
  });

  it('may store an operator request and resolve it', async () => {
    await running.query(
      `INSERT INTO operator_intents (idempotency_key, verb, actor, reason)
       VALUES ('one', 'freeze', 'ann', 'fire')`,
    );
    const { rowCount } = await running.query(
      `UPDATE operator_intents SET state = 'done', settled_at = now()`,
    );
    expect(rowCount).toBe(1);
  });

  it.each([
    `outcome = 'nothing was done'`,
    `state = 'open', settled_at = NULL`,
    `settled_at = now() - interval '1 year'`,
    `parameters = '{}'`,
  ])('E7: may not rewrite a resolved request: %s', async (change) => {
    await running.query(
      `INSERT INTO operator_intents (idempotency_key, verb, actor, reason, parameters)
       VALUES ($1, 'install', 'ann', 'new', '{"image": {"cloudInit": "secret", "name": "a"}}')`,
      [change],
    );
    const settle = (parameters: string) =>
      running.query(
        `UPDATE operator_intents SET state = 'refused', settled_at = now(),
           parameters = ${parameters} WHERE idempotency_key = $1 RETURNING parameters`,
        [change],
      );
    await expect(settle(`'{"image": {"name": "b"}}'`)).rejects.toMatchObject({ code: '42501' });
    const { rows } = await settle(`parameters #- '{image,cloudInit}'`);
    expect(rows).toEqual([{ parameters: { image: { name: 'a' } } }]);
    await expect(
      running.query(`UPDATE operator_intents SET ${change} WHERE idempotency_key = $1`, [change]),
    ).rejects.toMatchObject({ code: '42501' });
  });

  it('may revoke a token, and not restore it', async () => {
    await running.query(
      `INSERT INTO api_tokens (id, digest, name, owner, role, expires_at)
       VALUES ('a', sha256('a'), 'ci', 'ann', 'admin', now() + interval '1 day')`,
    );
    await running.query(`UPDATE api_tokens SET revoked_at = now(), revoked_by = 'bob'`);
    await running.query(`UPDATE api_tokens SET last_used_at = now()`);
    await expect(
      running.query(`UPDATE api_tokens SET revoked_at = NULL, revoked_by = NULL`),
    ).rejects.toMatchObject({ code: '42501' });
  });

  it('has the rights that it needs, and no more', async () => {
    expect(await privilegesOf('shepherd')).toEqual({ role: 'shepherd', missing: [], excess: [] });
    expect((await privilegesOf('shepherd_owner')).excess).toEqual(['being a superuser']);
  });
});

describe('migrate --grant-to', () => {
  const grant = (role: string) => migrate(server.ownerUrl, silentLog, { grantTo: role });

  it('revokes rights that were granted by hand, and grants rights that were revoked', async () => {
    await server.sql.query(`GRANT DELETE, UPDATE (failed_cause) ON work_history TO shepherd`);
    await server.sql.query(`GRANT UPDATE ON SEQUENCE work_epoch TO shepherd`);
    await server.sql.query(`GRANT CREATE ON SCHEMA public TO PUBLIC`);
    await server.sql.query(`GRANT ALL ON slot_events TO PUBLIC`);
    await server.sql.query(`REVOKE INSERT ON machines FROM shepherd`);
    const { missing, excess } = await privilegesOf('shepherd');
    expect(missing).toEqual(['INSERT on machines']);
    expect(excess).toEqual([
      'CREATE on schema public',
      ...['DELETE', 'REFERENCES', 'TRIGGER', 'TRUNCATE', 'UPDATE'].map(
        (p) => `${p} on slot_events`,
      ),
      'UPDATE on work_epoch',
      'DELETE on work_history',
      'UPDATE on work_history.failed_cause',
    ]);
    const refusal = await refusalOf(checkSchema(server.url));
    expect(refusal.code).toBe('denied');
    expect(refusal.text).toMatch(
      /"shepherd" lacks rights \(INSERT on machines\); run .*--grant-to/,
    );
    await grant('shepherd');
    await grant('shepherd');
    expect(await privilegesOf('shepherd')).toMatchObject({ missing: [], excess: [] });
    await expect(
      running.query(`UPDATE work_history SET failed_cause = 'mine'`),
    ).rejects.toMatchObject({ code: '42501' });
    await checkSchema(server.url);
  });

  it('serves several roles in turn, whatever their names are', async () => {
    await server.sql.query(`CREATE ROLE "Odd ""name"" -- x" LOGIN`);
    await grant('Odd "name" -- x');
    expect(await privilegesOf('Odd "name" -- x')).toMatchObject({ missing: [], excess: [] });
    expect(await privilegesOf('shepherd')).toMatchObject({ missing: [], excess: [] });
  });

  it.each([
    ['nobody_there', /there is no role "nobody_there".*CREATE ROLE/],
    ['shepherd_owner', /is a superuser/],
  ])('refuses %s', async (role, says) => {
    expect(await refusalOf(grant(role))).toEqual({
      code: 'usage',
      text: expect.stringMatching(says),
    });
  });

  it('refuses a role that has more rights by another membership, and changes nothing', async () => {
    await server.sql.query(`CREATE ROLE writer IN ROLE pg_write_all_data`);
    const { code, text } = await refusalOf(grant('writer'));
    expect(code).toBe('usage');
    expect(text).toMatch(/has DELETE on work_history.*membership/);
    await server.sql.query(`REVOKE pg_write_all_data FROM writer`);
    expect((await privilegesOf('writer')).missing).toContain('SELECT on machines');
    await server.sql.query(`DROP ROLE writer`);
  });
});

describe('an owner role without superuser rights', () => {
  let owner: string;
  beforeAll(async () => {
    const password = new URL(server.ownerUrl).password;
    await server.sql.query(`CREATE ROLE plain_owner LOGIN PASSWORD '${password}'`);
    await server.sql.query(`CREATE ROLE owner_member IN ROLE plain_owner`);
    await server.sql.query(`CREATE DATABASE plain OWNER plain_owner`);
    const url = Object.assign(new URL(server.ownerUrl), {
      username: 'plain_owner',
      pathname: '/plain',
    });
    owner = url.href;
  });

  it('may migrate and grant', async () => {
    await migrate(owner, silentLog, { grantTo: 'shepherd' });
    await checkSchema(owner);
    await checkSchema(Object.assign(new URL(server.url), { pathname: '/plain' }).href);
  });

  it.each(['plain_owner', 'owner_member'])('grants nothing to %s', async (role) => {
    const { code, text } = await refusalOf(migrate(owner, silentLog, { grantTo: role }));
    expect(code).toBe('usage');
    expect(text).toContain(`role "${role}" is the migrating role`);
  });
});

it('learns as the running role that it may not migrate', async () => {
  const fresh = Object.assign(new URL(server.url), { pathname: '/template1' });
  for (const url of [server.url, fresh.href]) {
    const { code, text } = await refusalOf(migrate(url, silentLog));
    expect(code).toBe('denied');
    expect(text).toMatch(
      /"shepherd" may not change the schema; run this command as the role that owns/,
    );
  }
});
