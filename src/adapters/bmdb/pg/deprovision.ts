import { NotFound, NothingToDo } from '../../../domain/errors.ts';
import { isUuid } from '../../../domain/ids.ts';
import type { MachineId } from '../../../domain/ids.ts';
import { FROM, giveBackRefusalSql, isHeldSql } from './eligibility.ts';
import { isReferenceViolation } from './errors.ts';
import type { Held } from './held.ts';
import { writeEvent } from './live.ts';
import type { Database, Queries } from './pool.ts';
import { repeatedOnce } from './repeat.ts';
import { statement } from './statement.ts';

export const statements = {
  readTarget: statement({
    name: 'deprovision-target',
    params: { machine: 'uuid' },
    columns: { preserved: 'bool' },
    text: ({ machine }) =>
      `SELECT ${isHeldSql('ShepherdDeprovision')} AS preserved
       ${FROM} WHERE m.machine_id = ${machine}`,
  }),
  /** The first request stays; only that is told. */
  request: statement({
    name: 'deprovision-request',
    params: { machine: 'uuid', by: 'text', reason: 'text' },
    columns: {},
    text: ({ machine, by, reason }) => `
      WITH requested AS (
        INSERT INTO machine_deprovision_request (machine_id, requested_by, reason)
        VALUES (${machine}, ${by}, ${reason}) ON CONFLICT DO NOTHING RETURNING machine_id
      )
      INSERT INTO slot_events (provider, slot_id, machine_id, kind, actor, reason)
      SELECT p.provider, coalesce(p.provider_reservation_id, p.provider_id), p.machine_id,
        'deprovisionRequested', ${by}, ${reason}
      FROM requested JOIN machine_provided p USING (machine_id)`,
  }),
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

/** See `Bmdb.requestDeprovision`. Asking twice is asking once, so a lost COMMIT is no trouble. */
export async function requestDeprovision(
  db: Database,
  machine: MachineId,
  { by, reason }: { readonly by: string; readonly reason: string },
): Promise<void> {
  const unknown = (cause?: unknown) => new NotFound(`there is no machine ${machine}`, { cause });
  if (!isUuid(machine)) throw unknown();
  const options = { doing: `ask to deprovision ${machine}`, isolation: 'READ COMMITTED' } as const;
  const ask = async (q: Queries) => {
    const [target] = await q.rows(statements.readTarget, { machine });
    if (!target) throw unknown();
    if (target.preserved) {
      throw new NothingToDo(`machine ${machine} is not to be given back: a hold preserves it`);
    }
    await q.run(statements.request, { machine, by, reason });
  };
  try {
    await repeatedOnce(() => db.transact(options, ask));
  } catch (error) {
    throw isReferenceViolation(error) ? unknown(error) : error;
  }
}

/**
 * Part of a note: the lease is locked. What forbids it is looked for once the request is locked.
 * @throws {NothingToDo} the request was taken back, or a hold preserves the machine now.
 */
export async function noteDeprovisionAsked(
  q: Queries,
  { machineId: machine, session }: Held,
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
