import { NothingToDo } from '../../../../domain/errors.ts';
import { FROM, giveBackRefusalSql } from '../eligibility.ts';
import type { HeldClaim } from '../claims/held-claim.ts';
import { writeEvent } from '../live.ts';
import type { Queries } from '../pool.ts';
import { statement } from '../statement.ts';

export const statements = {
  asked: statement({
    name: 'note-deprovision-asked',
    params: { machine: 'uuid' },
    columns: { attempts: 'int8' },
    text: ({ machine }) =>
      `UPDATE machine_deprovision_request SET attempts = attempts + 1, asked_at = now()
       WHERE machine_id = ${machine} RETURNING attempts`,
  }),
  mayAsk: statement({
    name: 'deprovision-may-ask',
    params: { machine: 'uuid' },
    columns: { refusal: 'text?' },
    text: ({ machine }) =>
      `SELECT ${giveBackRefusalSql()} AS refusal ${FROM} WHERE m.machine_id = ${machine}`,
  }),
};

/**
 * Part of a note: the lease is locked. What forbids it is looked for once the request is locked.
 * @throws {NothingToDo} the request was taken back, or a hold preserves the machine now.
 */
export async function noteDeprovisionAsked(
  q: Queries,
  { machineId: machine, session }: HeldClaim,
): Promise<void> {
  const [asked] = await q.rows(statements.asked, { machine });
  const [found] = await q.rows(statements.mayAsk, { machine });
  if (!asked || found?.refusal) {
    const why = found?.refusal ?? 'nobody asked to deprovision it';
    throw new NothingToDo(`machine ${machine} was not given back: ${why}`);
  }
  const reason = `attempt ${asked.attempts}`;
  await writeEvent(q, session, { machineId: machine, kind: 'deprovisionAsked', reason });
}
