import { LeaseLost } from '../../../domain/errors.ts';
import { commitAlive, liveSession } from './live.ts';
import type { LiveSession } from './live.ts';
import { repeatedOnce } from './repeat.ts';
import type { ArgsOf, Columns, Params, RowOf, Statement } from './statement.ts';
import type { Lease } from '../port.ts';

/** Parameters of a statement that only the holder of a job may run; see `fenceSql`. */
export const FENCE = { session: 'uuid', lease: 'text', epoch: 'int8' } as const;
/** Columns of such a statement, selected by `FENCE_TOLD`. */
export const FENCED = { alive: 'bool', leased: 'bool' } as const;
/** CTEs: `me`, the session, and `lease`, its job, which is locked until the transaction ends. */
export const fenceSql = (of: Readonly<Record<keyof typeof FENCE, string>>): string =>
  `me AS MATERIALIZED (${liveSession(of.session)}),
   lease AS MATERIALIZED (
     SELECT l.name FROM me JOIN leases l ON l.session_id = me.session_id
     WHERE l.name = ${of.lease} AND l.epoch = ${of.epoch} FOR SHARE OF l)`;
export const FENCE_TOLD = `EXISTS (SELECT 1 FROM me) AS alive, EXISTS (SELECT 1 FROM lease) AS leased`;

/**
 * Runs such a statement; repeats it once if the answer was lost.
 * @throws {SessionExpired} @throws {LeaseLost} nothing was written.
 */
export async function commitAsHolder<P extends Params, C extends Columns & typeof FENCED>(
  session: LiveSession,
  { name, epoch }: Lease,
  doing: string,
  [what, args]: readonly [Statement<P, C>, Omit<ArgsOf<P>, keyof typeof FENCE>],
): Promise<RowOf<C>[]> {
  const given = { ...args, session: session.sessionId, lease: name, epoch } as unknown as ArgsOf<P>;
  const rows = await repeatedOnce(() => commitAlive(session, { doing }, [what, given]));
  if (!rows[0]!.leased)
    throw new LeaseLost(`did not ${doing}: ${name} (lease ${epoch}) is no longer ours`);
  return rows;
}
