import { Throttled } from '../../../../domain/errors.ts';
import { CONTROLLER_RESET_MS } from '../../../../domain/recovery/rungs.ts';
import type { Queries } from '../pool.ts';
import { ms } from '../sql.ts';
import { named, statement } from '../statement.ts';

export const statements = named('controller-reset', {
  /** Returns no row if the last reset was too recent. Concurrent requests wait for each other. */
  ask: statement({
    params: { provider: 'text', controller: 'text', machine: 'uuid', everyMs: 'float8' },
    columns: { controller: 'text' },
    text: ({ provider, controller, machine, everyMs }) =>
      `INSERT INTO controller_resets AS r (provider, controller, machine_id)
       VALUES (${provider}, ${controller}, ${machine})
       ON CONFLICT (provider, controller) DO UPDATE
         SET machine_id = excluded.machine_id, asked_at = excluded.asked_at
         WHERE r.asked_at <= now() - ${everyMs} * interval '1 millisecond'
       RETURNING controller`,
  }),
  last: statement({
    params: { provider: 'text', controller: 'text' },
    columns: { at: 'float8' },
    text: ({ provider, controller }) =>
      `SELECT ${ms('asked_at')} AS at FROM controller_resets
       WHERE provider = ${provider} AND controller = ${controller}`,
  }),
});

/** Which controller to reset, and for which machine. */
export interface ControllerReset {
  readonly provider: string;
  readonly controller: string;
  readonly machine: string;
}

/** Part of a transaction at READ COMMITTED. @throws {Throttled} the last reset was too recent. */
export async function noteReset(q: Queries, reset: ControllerReset): Promise<void> {
  const { provider, controller } = reset;
  const taken = await q.rows(statements.ask, { ...reset, everyMs: CONTROLLER_RESET_MS });
  if (taken.length > 0) return;
  const [last] = await q.rows(statements.last, { provider, controller });
  const what = `controller ${controller} of ${provider} was reset less than a day ago`;
  throw new Throttled(what, (last?.at ?? 0) + CONTROLLER_RESET_MS);
}
