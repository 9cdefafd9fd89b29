import { holdsNow, SLOT_ID } from '../eligibility.ts';
import { statement } from '../statement.ts';

const SLOT = { provider: 'text', slot: 'text' } as const;
const TOLD = { ...SLOT, by: 'text', reason: 'text' } as const;
const MACHINE = { machine_id: 'uuid' } as const;
/** Over `machine_provided p`: the machine is on the slot. Each half may use its index. */
const isOn = ({ provider, slot }: Readonly<Record<'provider' | 'slot', string>>) =>
  `p.provider = ${provider} AND (p.provider_reservation_id = ${slot}
    OR (p.provider_reservation_id IS NULL AND p.provider_id = ${slot}))`;
/** Retired machines are given back without a new machine: the hold keeps their slots free. */
const giveBackSql = (by: string, where: string) => `
  WITH given AS (
    INSERT INTO machine_deprovision_request (machine_id, requested_by, reason, return_to_pool)
    SELECT q.machine_id, ${by}, 'retired: ' || q.reason, true
    FROM machine_quarantined q JOIN machine_provided p USING (machine_id)
    WHERE q.cause = 'retired' AND ${where}
    ORDER BY q.machine_id ON CONFLICT (machine_id) DO NOTHING RETURNING machine_id
  )
  DELETE FROM machine_quarantined q USING given WHERE q.machine_id = given.machine_id`;

/** Statements about retired slots, for operators' requests. */
export const retiring = {
  /** Never replaces a quarantine for a contradiction, which only a release ends. */
  retire: statement({
    params: TOLD,
    columns: MACHINE,
    text: ({ by, reason, ...slot }) =>
      `INSERT INTO machine_quarantined AS q (machine_id, kind, reason, cause, set_by)
       SELECT p.machine_id, 'byOperator', ${reason}, 'retired', ${by} FROM machine_provided p
       WHERE ${isOn(slot)} AND NOT EXISTS (SELECT 1 FROM machine_deprovision_request d
         WHERE d.machine_id = p.machine_id)
       ORDER BY p.machine_id
       ON CONFLICT (machine_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
         cause = excluded.cause, until = NULL, set_by = excluded.set_by
         WHERE q.kind <> 'conflict' OR q.until <= now()
       RETURNING q.machine_id`,
  }),
  giveBack: statement({
    params: { ...SLOT, by: 'text' },
    text: ({ by, ...slot }) => giveBackSql(by, isOn(slot)),
  }),
  /** Machines on the slot that are quarantined because it was retired. */
  retired: statement({
    params: SLOT,
    columns: MACHINE,
    text: (slot) =>
      `SELECT q.machine_id FROM machine_quarantined q JOIN machine_provided p USING (machine_id)
       WHERE q.cause = 'retired' AND ${isOn(slot)} ORDER BY q.machine_id`,
  }),
};

/** Statements for machines that the ladder has just quarantined with the cause `retired`. */
export const ladderRetiring = {
  retireSlots: statement({
    params: { machines: 'uuid[]', by: 'text' },
    text: ({ machines, by }) =>
      `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason)
       SELECT p.provider, ${SLOT_ID}, 'retired', ${by}, q.reason
       FROM machine_quarantined q JOIN machine_provided p USING (machine_id)
       WHERE q.machine_id = ANY (${machines}) AND q.cause = 'retired' ORDER BY 1, 2
       ON CONFLICT (provider, slot_id, kind) DO NOTHING`,
  }),
  giveBackRetired: statement({
    params: { machines: 'uuid[]', by: 'text' },
    text: ({ machines, by }) =>
      giveBackSql(
        by,
        `q.machine_id = ANY (${machines}) AND NOT EXISTS (SELECT 1 FROM slot_holds x
          WHERE x.provider = p.provider AND x.slot_id = ${SLOT_ID} AND x.kind = 'preserve'
            AND ${holdsNow('x')})`,
      ),
  }),
};
