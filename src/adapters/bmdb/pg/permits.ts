import { NoPermit } from '../../../domain/errors.ts';
import type { MachineId } from '../../../domain/ids.ts';
import { fleetBudget, groupBudget } from '../../../domain/policy.ts';
import type { RecoveryBudget } from '../../../domain/policy.ts';
import type { Queries } from './pool.ts';

/**
 * Grants the machine a permit to be recovered, unless it holds one already. Part of the claim's
 * transaction.
 * @throws {NoPermit} the budget of its location, its provider or the fleet is spent, or frozen.
 */
export async function grantPermit(
  q: Queries,
  machineId: MachineId,
  budget: RecoveryBudget,
): Promise<void> {
  const held = await q.rows(`SELECT 1 FROM recovery_permits WHERE machine_id = $1`, [machineId]);
  if (held.length > 0) return;
  // Looked at first without the lock, so that a fleet full of refusals does not queue for it.
  await checkBudget(q, machineId, budget);
  // Writing the row makes grants happen one after the other: a concurrent one fails with 40001 and
  // begins again, seeing this permit.
  await q.run(`UPDATE fleet_guard SET permits_granted = permits_granted + 1 WHERE scope = 'fleet'`);
  await q.run(
    `INSERT INTO recovery_permits (machine_id, provider, location)
     SELECT machine_id, provider, provider_location FROM machine_provided WHERE machine_id = $1`,
    [machineId],
  );
}

interface Counts {
  readonly scope: string;
  readonly recovering: number;
  readonly started: number;
}

async function checkBudget(
  q: Queries,
  machineId: MachineId,
  budget: RecoveryBudget,
): Promise<void> {
  await refuseFrozen(q, machineId);
  const counts = await q.rows<Counts>(COUNTS, [machineId]);
  for (const { scope, recovering, started } of counts) {
    const limit =
      scope === 'the fleet' ? fleetBudget(budget, started) : groupBudget(budget, started);
    if (recovering >= limit) {
      throw new NoPermit(`${recovering} of ${limit} machines of ${scope} are recovering already`);
    }
  }
}

/** @throws {NoPermit} the fleet or the machine's provider is frozen. */
export async function refuseFrozen(q: Queries, machineId: MachineId): Promise<void> {
  const [frozen] = await q.rows<{ scope: string; reason: string | null }>(
    `SELECT g.scope, g.reason FROM fleet_guard g WHERE g.frozen_at IS NOT NULL AND
       (g.scope = 'fleet' OR g.scope IN
         (SELECT provider FROM machine_provided WHERE machine_id = $1))`,
    [machineId],
  );
  if (frozen) {
    throw new NoPermit(`${frozen.scope} is frozen: ${frozen.reason ?? 'no reason given'}`);
  }
}

// Shares are of the machines that are started or being recovered.
const COUNTS = `
  WITH mine AS (
    SELECT provider, provider_location AS location FROM machine_provided WHERE machine_id = $1
  ), counted AS (
    SELECT coalesce(e.provider, p.provider) AS provider,
      coalesce(e.location, p.provider_location) AS location,
      e.machine_id IS NOT NULL AS recovering
    FROM machine_provided p
      LEFT JOIN machine_agent_started a USING (machine_id)
      LEFT JOIN recovery_permits e USING (machine_id)
    WHERE a.machine_id IS NOT NULL OR e.machine_id IS NOT NULL
  ), scopes (scope, provider, location) AS (
    SELECT 'the fleet', NULL, NULL FROM mine
    UNION ALL SELECT 'provider ' || provider, provider, NULL FROM mine
    UNION ALL SELECT 'location ' || location, NULL, location FROM mine WHERE location IS NOT NULL
  )
  SELECT s.scope, (count(*) FILTER (WHERE c.recovering))::int AS recovering,
    count(c.recovering)::int AS started
  FROM scopes s LEFT JOIN counted c ON (s.provider IS NULL OR s.provider = c.provider)
    AND (s.location IS NULL OR s.location = c.location)
  GROUP BY s.scope`;
