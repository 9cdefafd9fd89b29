import { exclusionGroup } from '../../../../domain/eligibility.ts';
import type { HeldClaim } from '../claims/held-claim.ts';
import { commitFenced, declareDead, liveSession } from '../live.ts';
import type { LiveOptions, LiveSession } from '../live.ts';
import type { ArgsOf, Fields, Params, RowOf, Statement } from '../statement.ts';

/** Columns that identify works, for `heldSql`. */
const HELD = { machineId: 'uuid', exclusionGroup: 'text', epoch: 'int8' } as const;
/** Parameters of such a statement. @param more further fields of each work. */
export const heldParams = <const More extends Fields = Record<never, never>>(
  more: More = {} as More,
) => ({ session: 'uuid', works: { ...HELD, ...more } }) as const;
/** Columns of the answer: whether the session lives, and the epochs of works still held. */
export const HELD_COLUMNS = { alive: 'bool', held: 'int8[]' } as const;

/** Arguments for `heldParams`. @param more further fields of each work. */
export const heldArgs = <More extends object>(
  { sessionId: session }: LiveSession,
  works: readonly (readonly [HeldClaim, More])[],
) => ({
  session,
  works: works.map(([{ machineId, process, epoch }, more]) => ({
    ...{ machineId, exclusionGroup: exclusionGroup(process), epoch },
    ...more,
  })),
});

/**
 * CTEs: `me`, the session if alive, and `held`, the works that it still holds, with their further
 * fields. Until the transaction ends, nobody else can take or end them. All are locked in machine
 * order before the first is read, so that nobody who has locked a tag waits for a lease. Waits
 * briefly for other locks: a note of the same work, or a session that believes us dead.
 */
export const heldSql = ({
  session,
  works,
}: Readonly<Record<'session' | 'works', string>>): string => `
  me AS MATERIALIZED (${liveSession(session)}),
  locked AS MATERIALIZED (
    SELECT works.* FROM me CROSS JOIN ${works}
      JOIN work w ON w.machine_id = works.machine_id AND w.exclusion_group = works.exclusion_group
    WHERE w.epoch = works.epoch AND w.session_id = me.session_id
    ORDER BY w.machine_id, w.exclusion_group FOR UPDATE OF w
  ), held AS MATERIALIZED (SELECT * FROM locked ORDER BY machine_id)`;

/**
 * CTEs after `held`: release the leases with a history line each; a finish also ends the backoff.
 * @param of expressions over `held h`.
 */
export const releaseSql = (of: Readonly<Record<'process' | 'event' | 'cause', string>>): string => `
  released AS (
    UPDATE work w SET session_id = NULL, process = NULL, work_started_at = NULL FROM held h
    WHERE w.machine_id = h.machine_id AND w.exclusion_group = h.exclusion_group
  ), written AS (
    INSERT INTO work_history
      (machine_id, process, event, failed_cause, session_id, component, epoch)
    SELECT h.machine_id, ${of.process}, ${of.event}, ${of.cause}, me.session_id,
      me.session_component_name, h.epoch
    FROM held h, me
  ), forgotten AS (
    DELETE FROM work_backoff b USING held h
    WHERE ${of.event} = 'Finished' AND b.machine_id = h.machine_id AND b.process = ${of.process}
  )`;

/** Last part of such a statement: see `HELD_COLUMNS`. */
export const HELD_ANSWER = `
  SELECT EXISTS (SELECT 1 FROM me) AS alive, ARRAY(SELECT epoch FROM held) AS held`;

/** Epochs of the works that the session held. @throws {SessionExpired} the session was dead. */
export function heldEpochs(
  session: LiveSession,
  doing: string,
  [row]: readonly RowOf<typeof HELD_COLUMNS>[],
): ReadonlySet<string> {
  if (!row!.alive) throw declareDead(session, doing);
  return new Set(row!.held);
}

/**
 * Runs such a statement, which commits by itself.
 * @returns epochs of the works that the session held; nothing was written for the others.
 * @throws {SessionExpired} @throws {AmbiguousCommit} @throws {Locked} nothing was written.
 */
export const writeHeld = async <P extends Params>(
  session: LiveSession,
  what: Pick<LiveOptions, 'doing' | 'processor'>,
  sent: readonly [Statement<P, typeof HELD_COLUMNS>, ArgsOf<P>],
): Promise<ReadonlySet<string>> =>
  heldEpochs(session, what.doing, await commitFenced(session, what, sent));
