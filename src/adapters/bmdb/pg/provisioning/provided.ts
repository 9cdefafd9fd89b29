import type { Outcome } from '../../../../lib/batcher.ts';
import { NotFound } from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { CLEARABLE, type Clearable } from '../../../../domain/provisioning/update.ts';
import { plainTextOr } from '../../../../lib/texts.ts';
import { forTraits, TRAITS } from '../../../../domain/traits.ts';
import { createPatientBatches } from '../batches.ts';
import { commitAlive, liveSession } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { named, statement } from '../statement.ts';
import type { BmdbSession, ProvidedPatch } from '../../port.ts';

const COLUMN_OF: Readonly<Record<Clearable, string>> = {
  address: 'provider_ip_address',
  ...forTraits((name) => TRAITS[name].column),
};

export const statements = named('provided', {
  /**
   * A text without a key in `told` stays; an unchanged row is not written. A machine that the
   * provider does not know is no longer being recovered.
   */
  update: statement({
    params: {
      session: 'uuid',
      c: { machineId: 'uuid', told: 'jsonb', status: 'provider_status?', absent: 'bool?' },
    },
    columns: { alive: 'bool', found: 'uuid[]' },
    text: ({ session, c }) => {
      const texts = CLEARABLE.map((field) => {
        const column = COLUMN_OF[field];
        const fresh = `CASE WHEN c.told ? '${field}' THEN c.told ->> '${field}' ELSE p.${column} END`;
        return [column, fresh];
      });
      const observed = (seen: string, notSeen: string, column: string) =>
        `CASE c.absent WHEN true THEN ${notSeen} WHEN false THEN ${seen} ELSE p.${column} END`;
      const values: Readonly<Record<string, string>> = {
        ...Object.fromEntries(texts),
        provider_status: 'coalesce(c.status, p.provider_status)',
        provider_missing_since: observed(
          'NULL',
          'coalesce(p.provider_missing_since, now())',
          'provider_missing_since',
        ),
        provider_missing_seen: observed(
          '0',
          'p.provider_missing_seen + 1',
          'provider_missing_seen',
        ),
      };
      const columns = Object.keys(values);
      const fresh = Object.values(values).join(',\n            ');
      return `
        WITH me AS MATERIALIZED (${liveSession(session)}),
        locked AS MATERIALIZED (
          SELECT c.* FROM me CROSS JOIN ${c} JOIN machine_provided p ON p.machine_id = c.machine_id
          ORDER BY p.machine_id FOR NO KEY UPDATE OF p
        ), updated AS (
          UPDATE machine_provided p SET (${columns.join(', ')}) = ROW (${fresh})
          FROM locked c WHERE p.machine_id = c.machine_id
            AND (${columns.map((column) => `p.${column}`).join(', ')}) IS DISTINCT FROM (${fresh})
        ), returned AS (
          DELETE FROM recovery_permits e USING locked c
          WHERE e.machine_id = c.machine_id AND c.status = 'Missing'
        )
        SELECT EXISTS (SELECT 1 FROM me) AS alive, ARRAY(SELECT machine_id FROM locked) AS found`;
    },
  }),
});

interface Update {
  readonly machine: MachineId;
  readonly patch: ProvidedPatch;
}

/** See `BmdbSession.updateProvided`. @throws {NotFound} the machine has no hardware recorded. */
export function createProvidedUpdates(session: LiveSession): BmdbSession['updateProvided'] {
  const updates = createPatientBatches<Update, void>(session, {
    keyOf: ({ machine }) => machine,
    run: (batch) => update(session, batch),
  });
  return async (machine, patch) => {
    const isGiven = Object.values(patch).some((each) => each !== undefined);
    if (isGiven) await updates.submit({ machine, patch });
  };
}

/** Not repeated when the answer is lost: the next comparison with the provider writes again. */
async function update(session: LiveSession, updates: readonly Update[]): Promise<Outcome<void>[]> {
  const many = `${updates.length} machines`;
  const doing = `update the hardware of ${updates.length === 1 ? updates[0]!.machine : many}`;
  const c = updates.map(({ machine: machineId, patch: { absent, status, ...texts } }) => ({
    ...{ machineId, absent, status },
    told: Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, plainTextOr(text)]),
    ),
  }));
  const call = { doing, processor: 'shepherd-updater' } as const;
  const args = { session: session.sessionId, c };
  const [answer] = await commitAlive(session, call, [statements.update, args]);
  const found = new Set<string>(answer!.found);
  return updates.map(({ machine }) =>
    found.has(machine)
      ? { ok: undefined }
      : { error: new NotFound(`machine ${machine} has no recorded hardware`) },
  );
}
