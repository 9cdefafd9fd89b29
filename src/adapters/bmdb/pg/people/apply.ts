import type { PoolRow } from '../../../../domain/balancing/pool-row.ts';
import { NotFound } from '../../../../domain/errors.ts';
import { serves } from '../../../../domain/eligibility.ts';
import { calmRow, FLEET } from '../../../../domain/recovery/guard-judgement.ts';
import type { GuardRow, MachineRow, RequestRow } from '../../../../domain/machine.ts';
import { RUNG_OF } from '../../../../domain/recovery/ladder.ts';
import { interrupts } from '../../../../domain/recovery/rungs.ts';
import { EXPIRED, ORDER_WAIT_MS } from '../../../../domain/requests.ts';
import { isOfScope, isOrder, ORDER_VERBS } from '../../../../domain/verbs.ts';
import type { RequestState } from '../../port.ts';
import { isKey, wishIn } from '../../submitted-requests.ts';
import { resultOfRequest } from '../../../../domain/request-outcome.ts';
import type { Scene } from '../../../../domain/request-result.ts';
import { statements as pools } from '../balancing/pool-rows.ts';
import { readGate } from '../guard/guard-repository.ts';
import { lockGuard, readGuardRows } from '../guard/guard-rows.ts';
import { transactLive } from '../live.ts';
import type { LiveSession } from '../live.ts';
import type { Queries } from '../pool.ts';
import { repeatedOnce } from '../repeat.ts';
import { endRequests } from '../requests/request-ends.ts';
import { statements as requests, toRequest, toState } from '../requests/requests.ts';
import { readMachines } from '../reading/rows.ts';
import { whyNoRoom } from '../recovery/permits.ts';
import { applyEffect } from './apply-effects.ts';
import { MOMENT, readHoldsOf } from '../reading/surroundings.ts';
import { named, statement } from '../statement.ts';

const INTERRUPTING = ORDER_VERBS.filter((verb) => interrupts(RUNG_OF[verb]))
  .map((verb) => `'${verb}'`)
  .join(', ');

export const statements = named('settle', {
  /** Work may continue; only transactions that delete the machine or apply something to it wait. */
  lockMachine: statement({
    params: { machine: 'uuid' },
    columns: { machine_id: 'uuid' },
    text: ({ machine }) =>
      `SELECT machine_id FROM machines WHERE machine_id = ${machine} FOR NO KEY UPDATE`,
  }),
  /** A hand-out to the agent waits for us, or we wait for it: so we know whether it happened. */
  lockInstallation: statement({
    params: { provider: 'text', slot: 'text' },
    columns: { installing: 'bool' },
    text: ({ provider, slot }) =>
      `SELECT r.handed_out_at IS NOT NULL AND r.generation IS DISTINCT FROM (
         SELECT o.generation FROM machine_os_installation_report o
         WHERE o.machine_id = r.machine_id) AS installing
       FROM machine_provided p JOIN machine_os_installation_request r USING (machine_id)
       WHERE p.provider = ${provider} AND (p.provider_reservation_id = ${slot}
         OR (p.provider_reservation_id IS NULL AND p.provider_id = ${slot}))
       FOR NO KEY UPDATE OF r`,
  }),
  giveTime: statement({
    params: { key: 'text', forMs: 'float8' },
    text: ({ key, forMs }) =>
      `UPDATE operator_intents SET expires_at = now() + ${forMs} * interval '1 millisecond'
       WHERE idempotency_key = ${key} AND state = 'open'`,
  }),
  /** Other orders that wait for a permit. */
  otherOrders: statement({
    params: { key: 'text', provider: 'text' },
    columns: { waiting: 'int4' },
    text: ({ key, provider }) =>
      `SELECT count(*)::int4 AS waiting FROM operator_intents y JOIN machine_provided p USING (machine_id)
       WHERE y.state = 'open' AND y.verb IN (${INTERRUPTING}) AND y.idempotency_key <> ${key}
         AND p.provider = ${provider}
         AND NOT EXISTS (SELECT 1 FROM recovery_permits e WHERE e.machine_id = y.machine_id)`,
  }),
  moment: statement({ columns: MOMENT.columns, text: () => `SELECT ${MOMENT.sql}` }),
});

/** See `BmdbSession.applyRequest`. What is already applied stays, so a lost COMMIT does no harm. */
export async function applyRequest(
  session: LiveSession,
  key: string,
): Promise<RequestState | null> {
  const unknown = () => new NotFound(`there is no request ${key}`);
  if (!isKey(key)) throw unknown();
  const options = { doing: `settle request ${key}`, isolation: 'READ COMMITTED' } as const;
  return repeatedOnce(() =>
    transactLive(session, options, async (q) => {
      const [row] = await q.rows(requests.lock, { key });
      if (!row) throw unknown();
      if (row.state !== 'open') return toState(row);
      const isInstalling = await lockSubject(q, toRequest(row));
      const request = toRequest(row);
      const wish = wishIn(request.verb, row.parameters);
      return applyLocked(q, session, { request, wish, isInstalling });
    }),
  );
}

/**
 * Locks what a decision concerns. The holders of work end it themselves, so this must not block
 * them.
 * @returns true if an installation was handed to the agent there and is not reported yet.
 */
async function lockSubject(
  q: Queries,
  { verb, provider, slotId: slot, machineId: machine }: RequestRow,
): Promise<boolean> {
  if (isOrder(verb)) return false;
  if (isOfScope(verb)) await lockGuard(q);
  else if (machine !== null) await q.rows(statements.lockMachine, { machine });
  if (provider === null || slot === null) return false;
  const rows = await q.rows(statements.lockInstallation, { provider, slot });
  return rows.some(({ installing }) => installing);
}

type RequestToApply = Pick<Scene, 'request' | 'wish' | 'isInstalling'>;

async function applyLocked(
  q: Queries,
  session: LiveSession,
  asked: RequestToApply,
): Promise<RequestState | null> {
  const { request } = asked;
  const scene = await readScene(q, session, asked);
  const ended = resultOfRequest(scene);
  if (!ended) return null;
  if (ended.outcome === EXPIRED && (await waitsForPermit(q, session, scene))) {
    await q.run(statements.giveTime, { key: request.key, forMs: ORDER_WAIT_MS });
    return null;
  }
  const { effect } = ended;
  if (effect && !(await applyEffect(q, scene, effect))) {
    // Another commit came in between; a new snapshot sees what it wrote.
    return applyLocked(q, session, asked);
  }
  await endRequests(q, session.sessionId, [{ key: request.key, ...ended }]);
  const [row] = await q.rows(requests.named, { keys: [request.key] });
  return toState(row!);
}

/**
 * An order is never refused for lack of a permit. Other machines may hold the permits, or there may
 * be too few for all waiting orders. A permit returned a moment ago may not be available yet.
 */
async function waitsForPermit(
  q: Queries,
  session: LiveSession,
  { request: { key, verb }, row }: Scene,
): Promise<boolean> {
  if (!isOrder(verb) || !interrupts(RUNG_OF[verb]) || !row?.provided) return false;
  const { provided } = row;
  const noRoom = (ahead: number) =>
    whyNoRoom(q, session.budget, provided, { isOrder: true, ahead });
  if ((await noRoom(0)) !== null) return true;
  if (serves(row) || (await readGate(q, session)).frozen(provided.provider)) return false;
  const [others] = await q.rows(statements.otherOrders, { key, provider: provided.provider });
  return (await noRoom(others!.waiting)) !== null;
}

async function readScene(q: Queries, { loss }: LiveSession, asked: RequestToApply): Promise<Scene> {
  const [moment] = await q.rows(statements.moment, {});
  const { request } = asked;
  const { provider, slotId, machineId } = request;
  const holds = provider === null || slotId === null ? [] : await readHoldsOf(q, provider, slotId);
  const row: MachineRow | null = machineId && ((await readMachines(q, [machineId]))[0] ?? null);
  const now = { holds, nowMs: moment!.nowMs, loss };
  const guard = await readGuardOf(q, request);
  return { ...asked, row, guard, pools: await lockPoolsOf(q, request), now };
}

const lockPoolsOf = async (q: Queries, { pool }: RequestRow): Promise<PoolRow[]> =>
  pool ? q.rows(pools.lock, pool) : [];

async function readGuardOf(q: Queries, { verb, provider }: RequestRow): Promise<GuardRow | null> {
  if (!isOfScope(verb)) return null;
  const scope = provider ?? FLEET;
  const rows = await readGuardRows(q);
  return rows.find((each) => each.scope === scope) ?? calmRow(scope);
}
