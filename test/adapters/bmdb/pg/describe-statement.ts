import type pg from 'pg';
import { paramTypes, sqlType } from '../../../../src/adapters/bmdb/pg/statement.ts';
import type { Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';

/** The server's description of a statement: parameter types, column names and column types. */
export interface Description {
  readonly params: readonly string[];
  readonly columns: readonly (readonly [name: string, type: string])[];
}

/**
 * Differences between the declaration and the server's description. Empty: the declaration is
 * right.
 */
export async function complaintsAbout(
  client: pg.ClientBase,
  statement: Statement,
): Promise<string[]> {
  try {
    return compare(statement, await describe(client, statement.text));
  } catch (error) {
    return [`${statement.name} is refused: ${error instanceof Error ? error.message : error}`];
  }
}

function compare(statement: Statement, real: Description): string[] {
  const params = paramTypes(statement.params);
  const columns = Object.entries(statement.columns).map(([name, type]) => [name, sqlType(type)]);
  const differences = [
    ['parameters', params, real.params],
    ['columns', columns, real.columns],
  ] as const;
  return differences
    .map(([what, declared, found]) => [what, JSON.stringify(declared), JSON.stringify(found)])
    .filter(([, declared, found]) => declared !== found)
    .map(([what, declared, found]) => `${statement.name}: ${what} ${declared}, really ${found}`);
}

/**
 * Parse and Describe of the extended protocol, without execution.
 * @throws the server's error about a missing table, column or parameter.
 */
async function describe(client: pg.ClientBase, text: string): Promise<Description> {
  const { params, columns } = await ask(client, text);
  const names = await namesOf(client, [...params, ...columns.map(({ dataTypeID }) => dataTypeID)]);
  return {
    params: params.map((oid) => names.get(oid)!),
    columns: columns.map(({ name, dataTypeID }) => [name, names.get(dataTypeID)!]),
  };
}

interface Field {
  readonly name: string;
  readonly dataTypeID: number;
}

/** `pg` gives the connection to a custom query, and the server's answers to its handlers. */
function ask(client: pg.ClientBase, text: string) {
  return new Promise<{ params: number[]; columns: readonly Field[] }>((resolve, reject) => {
    let params: number[] = [];
    let columns: readonly Field[] = [];
    let failure: Error | undefined;
    client.query({
      submit: (connection: pg.Connection) => {
        connection.once('parameterDescription', (message: { dataTypeIDs: number[] }) => {
          params = message.dataTypeIDs;
        });
        connection.parse({ name: '', text, types: [] }, true);
        connection.describe({ type: 'S', name: '' }, true);
        connection.sync();
      },
      handleRowDescription: (message: { fields: readonly Field[] }) => {
        columns = message.fields;
      },
      handleError: (error: Error) => {
        failure = error;
        reject(error);
      },
      handleReadyForQuery: () => {
        if (!failure) resolve({ params, columns });
      },
    });
  });
}

/** Type names as the declarations write them. */
async function namesOf(client: pg.ClientBase, oids: readonly number[]) {
  const { rows } = await client.query<{ oid: number; name: string }>(
    `SELECT t.oid::int, CASE WHEN e.oid IS NULL THEN t.typname ELSE e.typname || '[]' END AS name
     FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
     WHERE t.oid = ANY($1::oid[])`,
    [oids],
  );
  // The two are equal on the wire.
  return new Map(rows.map(({ oid, name }) => [oid, name.replace(/^varchar/, 'text')]));
}
