import { NotFound } from '../../../domain/errors.ts';
import type { MachineId } from '../../../domain/ids.ts';
import { transactLive } from './live.ts';
import type { LiveSession } from './live.ts';
import type { ProvidedPatch } from '../port.ts';

/** See `BmdbSession.updateProvided`. @throws {NotFound} the machine has no hardware recorded. */
export async function updateProvided(
  session: LiveSession,
  machineId: MachineId,
  patch: ProvidedPatch,
): Promise<void> {
  const columns = [
    ['provider_ip_address', patch.address],
    ['provider_location', patch.location],
    ['provider_status', patch.status],
  ] as const;
  const given = columns.filter(([, value]) => value !== undefined);
  if (given.length === 0) return;
  const sets = given.map(([column], at) => `${column} = $${at + 2}`);
  const differs = given.map(([column], at) => `${column} IS DISTINCT FROM $${at + 2}`);
  await transactLive(session, `update what is provided as ${machineId}`, async (q) => {
    const found = await q.rows(`SELECT 1 FROM machine_provided WHERE machine_id = $1`, [machineId]);
    if (found.length === 0) throw new NotFound(`machine ${machineId} has no hardware recorded`);
    await q.run(
      `UPDATE machine_provided SET ${sets.join(', ')}
       WHERE machine_id = $1 AND (${differs.join(' OR ')})`,
      [machineId, ...given.map(([, value]) => value)],
    );
    // A machine the provider does not know is no longer being recovered.
    if (patch.status === 'Missing') {
      await q.run(`DELETE FROM recovery_permits WHERE machine_id = $1`, [machineId]);
    }
  });
}
