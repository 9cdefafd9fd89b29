import { NotFound } from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { CLEARABLE, type Clearable } from '../../../../domain/provisioning/update.ts';
import { forTraits, TRAITS } from '../../../../domain/traits.ts';
import { transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { statement } from '../statement.ts';
import type { ProvidedPatch } from '../../port.ts';

const COLUMN_OF: Readonly<Record<Clearable, string>> = {
  address: 'provider_ip_address',
  ...forTraits((name) => TRAITS[name].column),
};

export const statements = {
  /** Locked, so that the answer still holds for what follows. */
  lockProvided: statement({
    name: 'provided-lock',
    params: { machine: 'uuid' },
    columns: { machine_id: 'uuid' },
    text: ({ machine }) =>
      `SELECT machine_id FROM machine_provided WHERE machine_id = ${machine} FOR NO KEY UPDATE`,
  }),
  /** A text that `told` has no key of stays; a row that stays the same is not written. */
  updateProvided: statement({
    name: 'provided-update',
    params: { machine: 'uuid', told: 'jsonb', status: 'provider_status?', absent: 'bool?' },
    columns: {},
    text: ({ machine, told, status, absent }) => {
      const texts = CLEARABLE.map((field) => {
        const column = COLUMN_OF[field];
        const fresh = `CASE WHEN ${told} ? '${field}' THEN ${told} ->> '${field}' ELSE ${column} END`;
        return [column, fresh];
      });
      const observed = (seen: string, notSeen: string, column: string) =>
        `CASE ${absent} WHEN true THEN ${notSeen} WHEN false THEN ${seen} ELSE ${column} END`;
      const values: Readonly<Record<string, string>> = {
        ...Object.fromEntries(texts),
        provider_status: `coalesce(${status}, provider_status)`,
        provider_missing_since: observed(
          'NULL',
          'coalesce(provider_missing_since, now())',
          'provider_missing_since',
        ),
        provider_missing_seen: observed('0', 'provider_missing_seen + 1', 'provider_missing_seen'),
      };
      const columns = Object.keys(values).join(', ');
      const fresh = Object.values(values).join(',\n           ');
      return `UPDATE machine_provided SET (${columns}) = ROW (${fresh})
         WHERE machine_id = ${machine}
           AND (${columns}) IS DISTINCT FROM (${fresh})`;
    },
  }),
  returnPermit: statement({
    name: 'provided-return-permit',
    params: { machine: 'uuid' },
    columns: {},
    text: ({ machine }) => `DELETE FROM recovery_permits WHERE machine_id = ${machine}`,
  }),
};

/**
 * See `BmdbSession.updateProvided`. At READ COMMITTED: the row is locked first, and only this one is
 * written. @throws {NotFound} the machine has no hardware recorded.
 */
export async function updateProvided(
  session: LiveSession,
  machine: MachineId,
  { absent, status, ...told }: ProvidedPatch,
): Promise<void> {
  const isGiven = [absent, status, ...Object.values(told)].some((each) => each !== undefined);
  if (!isGiven) return;
  const doing = `update what is provided as ${machine}`;
  const how = { doing, processor: 'shepherd-updater', isolation: 'READ COMMITTED' } as const;
  await transactLive(session, how, async (q) => {
    const found = await q.rows(statements.lockProvided, { machine });
    if (found.length === 0) throw new NotFound(`machine ${machine} has no hardware recorded`);
    await q.run(statements.updateProvided, {
      machine,
      told,
      status: status ?? null,
      absent: absent ?? null,
    });
    // A machine the provider does not know is no longer being recovered.
    if (status === 'Missing') await q.run(statements.returnPermit, { machine });
  });
}
