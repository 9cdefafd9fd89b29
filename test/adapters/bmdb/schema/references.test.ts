import { expect, it } from 'vitest';
import { usePgServer } from '../pg/pg-harness.ts';

const server = usePgServer();

interface Reference {
  readonly table: string;
  readonly onDelete: string | null;
}

/** Each tag table with the definition of its reference to machines. Null: it has none. */
async function tagReferences(): Promise<Reference[]> {
  const { rows } = await server.sql.query<Reference>(`
    SELECT c.table_name::text AS table, r.delete_rule::text AS "onDelete"
    FROM information_schema.columns c
      LEFT JOIN information_schema.key_column_usage k
        ON (k.table_schema, k.table_name, k.column_name)
          = (c.table_schema, c.table_name, c.column_name)
        AND k.position_in_unique_constraint IS NOT NULL
      LEFT JOIN information_schema.referential_constraints r
        ON (r.constraint_schema, r.constraint_name) = (k.constraint_schema, k.constraint_name)
        AND r.unique_constraint_name = 'machines_pkey'
    WHERE c.table_schema = 'public' AND c.table_name LIKE 'machine\\_%'
      AND c.column_name = 'machine_id' AND c.table_name <> 'machine_changes'
    ORDER BY 1`);
  return rows;
}

it('restricts the deletion of a machine with tags, so that the deletion names them', async () => {
  const references = await tagReferences();
  expect(references.map(({ table }) => table)).toEqual([
    'machine_acceptances',
    ...['machine_agent_heartbeat', 'machine_agent_start_attempt', 'machine_agent_started'],
    ...['machine_boot_times', 'machine_deprovision_request', 'machine_hardware_report'],
    ...['machine_os_installation_report', 'machine_os_installation_request'],
    ...['machine_provided', 'machine_quarantined', 'machine_recovery', 'machine_ssh_host_key'],
  ]);
  expect(references.filter(({ onDelete }) => onDelete !== 'RESTRICT')).toEqual([]);
});

it('finds a changed reference and a dropped one', async () => {
  const drop = (table: string) => `ALTER TABLE ${table} DROP CONSTRAINT ${table}_machine_id_fkey`;
  await server.sql.query(`${drop('machine_recovery')}, ADD CONSTRAINT mine
    FOREIGN KEY (machine_id) REFERENCES machines ON DELETE CASCADE`);
  await server.sql.query(drop('machine_provided'));
  const wrong = (await tagReferences()).filter(({ onDelete }) => onDelete !== 'RESTRICT');
  expect(wrong).toEqual([
    { table: 'machine_provided', onDelete: null },
    { table: 'machine_recovery', onDelete: 'CASCADE' },
  ]);
});
