import { WorkConflict } from '../../../../domain/errors.ts';
import type { Witness } from '../../../../domain/ids.ts';
import { commitFenced, declareDead, requireInTime } from '../live.ts';
import type { LiveSession } from '../live.ts';
import { repeatedOnce } from '../repeat.ts';
import type { ArgsOf, Params, RowOf, Statement } from '../statement.ts';

/** What the rows of a step's answer tell, beside what became of their intents. */
interface StepColumns {
  readonly [name: string]: Statement['columns'][string];
  /** Null: there is nothing to tell of any intent. */
  readonly witness: 'uuid?';
  /** The session was, when the step began. */
  readonly alive: 'bool';
}

/** Whom the steps are counted for. */
export const PROCESSOR = 'shepherd-provisioner';

/** The intent cannot be changed by the caller. */
export const notOurs = (witness: Witness) =>
  new WorkConflict(`intent ${witness} is settled or worked on by another session`);

/**
 * The intents of `steps`, locked, for a CTE beside `me`: what is read of them is what is true now.
 * Whoever is just changing one of them is waited for; one of a session that took it over meanwhile is
 * not ours.
 * @param steps an item of FROM, `step (witness, …)`.
 */
export const lockedIntents = (steps: string): string => `
  SELECT step.*, i.machine_id, i.provider, i.slot_id, i.state,
    i.session_id = me.session_id AND i.state IN ('open', 'unresolved') AS ours
  FROM me CROSS JOIN ${steps} JOIN provision_intents i ON i.witness = step.witness
  ORDER BY i.witness FOR UPDATE OF i`;

/**
 * The answer of a step, from what is to be told of its intents. One that is not among them is missed
 * by whoever reads it: joining them to the steps would compare each with each.
 */
export const answerOf = (told: string): string => `
  SELECT EXISTS (SELECT 1 FROM me) AS alive, told.*
  FROM (SELECT) AS always LEFT JOIN (${told}) AS told ON true`;

/**
 * Takes one step each in the lives of several intents, by one statement. A step may safely be taken
 * twice: it is repeated when the answer was lost, and then waits for the first one, if the server is
 * still busy with it. One that reaches the server only later changes what is settled no more; at most
 * it tells again how far an open intent had come.
 * @returns what it tells of intents, by their witnesses.
 * @throws {SessionExpired} @throws {Locked}
 */
export async function takeSteps<P extends Params, C extends StepColumns>(
  session: LiveSession,
  doing: string,
  call: readonly [Statement<P, C>, ArgsOf<P>],
): Promise<ReadonlyMap<string | null, RowOf<C>>> {
  const rows = await repeatedOnce(() =>
    commitFenced(session, { doing, processor: PROCESSOR }, call),
  );
  if (!rows[0]?.alive) throw declareDead(session, doing);
  requireInTime(session, doing);
  return new Map(rows.map((row) => [row.witness, row]));
}

/** What is done to one intent, or to several. */
export const doingTo = (verb: string, steps: readonly unknown[], one: string): string =>
  `${verb} ${steps.length === 1 ? one : `${steps.length} intents`}`;
