import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statements as rows } from '../../../../src/adapters/bmdb/pg/reading/rows.ts';
import { sources } from '../../../repo/sources.ts';
import { complaintsAbout } from './describe-statement.ts';
import { usePgServer } from './pg-harness.ts';
import { declaredNames, undeclaredSql } from './statement-sources.ts';
import { registeredStatements } from './statement-registry.ts';

const server = usePgServer();
let client: pg.Client;
beforeAll(async () => {
  client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
});
// Runs before the server's own end, since hooks end in the reverse order.
afterAll(() => client.end());

const registered = await registeredStatements();

describe('every declared statement', () => {
  test('exists at all', () => expect(registered.length).toBeGreaterThan(20));

  test.each(registered.map((each) => [`${each.file}: ${each.name}`, each.statement] as const))(
    '%s has the parameter and column types that the server reports',
    async (_, declared) => {
      await client.query('BEGIN');
      try {
        // The columns of its answer are known only while the cursor is open.
        if (declared === rows.nextOfFleet) await client.query(rows.beginFleet.text);
        expect(await complaintsAbout(client, declared)).toEqual([]);
      } finally {
        await client.query('ROLLBACK');
      }
    },
  );

  test('has a unique name, which the server does not truncate', () => {
    const names = registered.map((each) => each.statement.name);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
    expect(names.filter((name) => Buffer.byteLength(name) > 63)).toEqual([]);
  });
});

describe('the sources', () => {
  const files = sources('src/adapters/bmdb/pg/**/*.ts');

  test('run only declared statements as SQL', () => {
    expect(files.flatMap(undeclaredSql)).toEqual([]);
  });

  test('declare every statement in the registry of their module', () => {
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

test('reveal a mistake in a declaration', async () => {
  const { statement: declared } = registered[0]!;
  for (const change of [{ text: 'SELECT nothing' }, { params: { no: 'uuid' } as const }]) {
    expect(await complaintsAbout(client, { ...declared, ...change })).toHaveLength(1);
  }
});
