import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statements as rows } from '../../../../src/adapters/bmdb/pg/reading/rows.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { sources } from '../../../repo/sources.ts';
import { complaintsAbout } from './describe-statement.ts';
import { startPgServer } from './pg-harness.ts';
import type { PgServer } from './pg-harness.ts';
import { declaredNames, undeclaredSql } from './statement-sources.ts';
import { registeredStatements } from './statement-registry.ts';

let server: PgServer;
let client: pg.Client;
beforeAll(async () => {
  server = await startPgServer();
  client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await server.stop();
});

const registered = await registeredStatements();

describe('every declared statement', () => {
  test('there are some', () => expect(registered.length).toBeGreaterThan(20));

  test.each(registered.map((each) => [`${each.file}: ${each.name}`, each.statement] as const))(
    '%s is what the server says it is',
    async (_, declared) => {
      await client.query('BEGIN');
      try {
        // What it answers is known only while the cursor is open.
        if (declared === rows.nextOfFleet) await client.query(rows.beginFleet.text);
        expect(await complaintsAbout(client, declared)).toEqual([]);
      } finally {
        await client.query('ROLLBACK');
      }
    },
  );

  test('has a name of its own', () => {
    const names = registered.map((each) => each.statement.name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  test('has a name that the server does not cut short', () => {
    const names = registered.map((each) => each.statement.name);
    expect(names.filter((name) => Buffer.byteLength(name) > 63)).toEqual([]);
  });
});

describe('the sources', () => {
  const files = sources('src/adapters/bmdb/pg/**/*.ts');

  test('run no SQL but declared statements', () => {
    expect(files.flatMap(undeclaredSql)).toEqual([]);
  });

  test('declare no statement outside the registry of their module', () => {
    const missing = files.flatMap((file) => {
      const known = registered.filter((each) => file.path.endsWith(`/${each.file}`));
      return declaredNames(file)
        .map((name) => new RegExp(`^${name.replaceAll('*', '.*')}$`))
        .filter((name) => !known.some((each) => name.test(each.statement.name)))
        .map((name) => `${file.path}: ${name.source}`);
    });
    expect(missing).toEqual([]);
  });
});

describe('a mistake is found:', () => {
  const params = { id: 'uuid' } as const;
  const columns = { machine_id: 'uuid', kind: 'quarantine_kind' } as const;
  const right: Statement = statement({
    name: 'right',
    params,
    columns: { ...columns, reason: 'text' },
    text: ({ id }) =>
      `SELECT machine_id, kind, reason FROM machine_quarantined WHERE machine_id = ${id}`,
  });
  type Changed = Partial<Statement>;
  const wrong = (changed: Changed) => complaintsAbout(client, { ...right, ...changed });

  test('none in the right one', async () => {
    expect(await wrong({})).toEqual([]);
  });

  test.each<[string, Changed, RegExp]>([
    ['a column that is not there', { text: right.text.replace('reason', 'raison') }, /"raison"/],
    ['a table that is not there', { text: right.text.replace('_quar', '_guar') }, /relation/],
    ['another name', { columns: { ...columns, raison: 'text' } }, /raison/],
    ['another type', { columns: { ...right.columns, kind: 'text' } }, /"kind","text".*really/],
    ['a column too few', { columns: { machine_id: 'uuid', kind: 'quarantine_kind' } }, /reason/],
    ['another order', { columns: { reason: 'text', kind: 'quarantine_kind' } }, /columns/],
    ['a missing parameter', { params: {} }, /parameters \[\], really \["uuid"\]/],
    ['a parameter too many', { params: { ...params, no: 'text' } }, /parameters/],
    ['another type of a parameter', { params: { id: 'text' } }, /parameters/],
    ['a gap', { text: right.text.replace('$1', '$2') }, /\$1/],
  ])('%s', async (_, changed, complaint) => {
    expect((await wrong(changed)).join()).toMatch(complaint);
  });

  test('SQL that is run as text', () => {
    const text = [
      'await q.rows(`SELECT ${one} FROM work`, [1]);',
      `await db.rows('count', 'DELETE FROM work');`,
      `await client.query('COMMIT');`,
      `await q.run(statements.one, { text: 1 });`,
    ].join('\n');
    expect(undeclaredSql({ path: 'a.ts', text })).toEqual([
      'a.ts:1 runs SELECT … FROM work',
      'a.ts:2 runs DELETE FROM work',
    ]);
  });

  test('a statement that is in no registry', () => {
    const text = 'const a = [statement({ name: "one" }), statement({ name: `two-${b}` })];';
    expect(declaredNames({ path: 'a.ts', text })).toEqual(['one', 'two-*']);
  });
});
