import { nextBackoffSeconds } from '../../../domain/backoff.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isLadder } from '../../../domain/eligibility.ts';
import type { MachineId } from '../../../domain/ids.ts';
import { forgetMachines } from './forget.ts';
import { statements as tags } from './forget-tag.ts';
import type { Failure, Finish, Held } from './held.ts';
import type { LiveSession, SlotEvent } from './live.ts';
import type { Queries } from './pool.ts';
import { statement } from './statement.ts';
import type { FinishChange } from '../port.ts';

export const statements = {
  startAgents: statement({
    name: 'agents-start',
    params: { machines: 'uuid[]', keys: 'bytea[]', boots: 'text?[]' },
    columns: {},
    text: ({ machines, keys, boots }) =>
      `INSERT INTO machine_agent_started (machine_id, agent_started_at, agent_public_key, boot_id)
       SELECT e.machine_id, now(), e.key, e.boot
       FROM unnest(${machines}, ${keys}, ${boots}) AS e (machine_id, key, boot) ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET agent_started_at = excluded.agent_started_at,
         agent_public_key = excluded.agent_public_key, boot_id = excluded.boot_id`,
  }),
  pinHostKeys: statement({
    name: 'host-keys-pin',
    params: { machines: 'uuid[]', keys: 'text[]' },
    columns: {},
    text: ({ machines, keys }) =>
      `INSERT INTO machine_ssh_host_key (machine_id, key)
       SELECT * FROM unnest(${machines}, ${keys}) AS e (machine_id, key) ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET key = excluded.key
         WHERE machine_ssh_host_key.key <> excluded.key`,
  }),
  endRequests: statement({
    name: 'recovery-end-requests',
    params: { machines: 'uuid[]' },
    columns: {},
    text: ({ machines }) =>
      `UPDATE machine_recovery SET asked_at = NULL, operation_ref = NULL
       WHERE machine_id = ANY (${machines})`,
  }),
  coolDowns: statement({
    name: 'recovery-cool-downs',
    params: { machines: 'uuid[]' },
    columns: { machine_id: 'uuid', rung: 'recovery_rung', cool_down_seconds: 'int8?' },
    text: ({ machines }) =>
      `SELECT machine_id, rung, cool_down_seconds FROM machine_recovery
       WHERE machine_id = ANY (${machines}) ORDER BY machine_id FOR UPDATE`,
  }),
  coolDown: statement({
    name: 'recovery-cool-down',
    params: { machines: 'uuid[]', waits: 'float8[]', seconds: 'int8[]' },
    columns: {},
    text: ({ machines, waits, seconds }) =>
      `UPDATE machine_recovery l
       SET next_at = now() + e.wait * interval '1 second', cool_down_seconds = e.seconds
       FROM unnest(${machines}, ${waits}, ${seconds}) AS e (machine_id, wait, seconds)
       WHERE l.machine_id = e.machine_id`,
  }),
  backOff: statement({
    name: 'work-back-off',
    params: {
      ...{ machines: 'uuid[]', processes: 'process[]', waits: 'float8[]' },
      ...{ causes: 'text[]', seconds: 'int8[]' },
    },
    columns: {},
    text: ({ machines, processes, waits, causes, seconds }) =>
      `INSERT INTO work_backoff (machine_id, process, until, cause, last_interval_seconds)
       SELECT e.machine_id, e.process, now() + e.wait * interval '1 second', e.cause, e.seconds
       FROM unnest(${machines}, ${processes}, ${waits}, ${causes}, ${seconds})
         AS e (machine_id, process, wait, cause, seconds) ORDER BY 1
       ON CONFLICT (machine_id, process) DO UPDATE SET until = excluded.until,
         cause = excluded.cause, last_interval_seconds = excluded.last_interval_seconds`,
  }),
  countAttempts: statement({
    name: 'agent-start-count',
    params: { machines: 'uuid[]' },
    columns: {},
    text: ({ machines }) =>
      `INSERT INTO machine_agent_start_attempt AS t (machine_id, attempted_at, count)
       SELECT machine_id, now(), 1 FROM unnest(${machines}) AS e (machine_id) ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET count = t.count + 1`,
  }),
  quarantine: statement({
    name: 'machines-quarantine',
    params: { machines: 'uuid[]', kinds: 'quarantine_kind[]', reasons: 'text[]', by: 'text' },
    columns: {},
    text: ({ machines, kinds, reasons, by }) =>
      `INSERT INTO machine_quarantined (machine_id, kind, reason, set_by)
       SELECT e.machine_id, e.kind, e.reason, ${by}
       FROM unnest(${machines}, ${kinds}, ${reasons}) AS e (machine_id, kind, reason) ORDER BY 1
       ON CONFLICT (machine_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
         until = NULL, set_by = excluded.set_by
         WHERE machine_quarantined.kind <> 'byOperator' OR machine_quarantined.until <= now()`,
  }),
};

/** Rungs that machines of the ladder are on. */
type Rungs = ReadonlyMap<string, string>;
type AgentStarted = Extract<FinishChange, { kind: 'agentStarted' }>;
interface Started {
  readonly machineId: MachineId;
  readonly change: AgentStarted;
}

/** What finished tasks make true, in the transaction that ends them. */
export async function applyChanges(
  q: Queries,
  session: LiveSession,
  finished: readonly Finish[],
): Promise<Rungs> {
  await forgetMachines(
    q,
    session,
    finished.filter(({ change }) => change.kind === 'deprovisioned'),
  );
  const started: Started[] = [];
  const recovered: CoolDown[] = [];
  for (const { held, change } of finished) {
    if (change.kind === 'agentStarted') started.push({ machineId: held.machineId, change });
    if (change.kind === 'recovered') recovered.push({ held, descriptor: change.coolDown });
  }
  const back = recovered.map(({ held }) => held.machineId);
  await startAgents(q, started);
  if (back.length > 0) await q.run(tags.forgetAgents, { machines: back });
  const machines = [...started.map(({ machineId }) => machineId), ...back];
  if (machines.length > 0) {
    await q.run(tags.forgetHeartbeats, { machines });
    await q.run(tags.forgetAttempts, { machines });
    await q.run(tags.returnPermits, { machines });
  }
  const rungs = await coolDown(q, session, recovered);
  if (back.length > 0) await q.run(statements.endRequests, { machines: back });
  return rungs;
}

async function startAgents(q: Queries, started: readonly Started[]): Promise<void> {
  if (started.length === 0) return;
  await q.run(statements.startAgents, {
    machines: started.map(({ machineId }) => machineId),
    keys: started.map(({ change }) => Buffer.from(change.publicKey)),
    boots: started.map(({ change }) => change.bootId),
  });
  const pinned = started.filter(({ change }) => change.hostKey !== null);
  if (pinned.length === 0) return;
  await q.run(statements.pinHostKeys, {
    machines: pinned.map(({ machineId }) => machineId),
    keys: pinned.map(({ change }) => change.hostKey!),
  });
}

interface CoolDown {
  readonly held: Held;
  readonly descriptor: BackoffDescriptor;
}

/**
 * No rung starts again before the cool-down, which grows over the whole episode. Nothing to cool
 * down from while nothing was asked of the provider.
 */
async function coolDown(
  q: Queries,
  session: LiveSession,
  wanted: readonly CoolDown[],
): Promise<Rungs> {
  const ladder = wanted.filter(({ held }) => isLadder(held.process));
  if (ladder.length === 0) return new Map();
  const machines = ladder.map(({ held }) => held.machineId);
  const rows = await q.rows(statements.coolDowns, { machines });
  const descriptors = new Map<string, BackoffDescriptor>(
    ladder.map(({ held, descriptor }) => [held.machineId, descriptor]),
  );
  const waits = rows.map((row) => {
    const previous = row.cool_down_seconds === null ? null : Number(row.cool_down_seconds);
    const seconds = nextBackoffSeconds(descriptors.get(row.machine_id)!, previous);
    return { id: row.machine_id, seconds, wait: jittered(session, seconds) };
  });
  if (waits.length > 0) {
    await q.run(statements.coolDown, {
      machines: waits.map(({ id }) => id),
      waits: waits.map(({ wait }) => wait),
      seconds: waits.map(({ seconds }) => seconds),
    });
  }
  return new Map(rows.map((row) => [row.machine_id, row.rung]));
}

const jittered = ({ random, jitter }: LiveSession, seconds: number): number =>
  seconds * (1 + random.next() * jitter);

/** What failed tasks make true, in the transaction that ends them. */
export async function recordFailures(
  q: Queries,
  session: LiveSession,
  failed: readonly Failure[],
): Promise<void> {
  if (failed.length === 0) return;
  await backOff(q, session, failed);
  const starts = failed.filter(({ held }) => held.process === 'ShepherdAgentStart');
  if (starts.length > 0) {
    await q.run(statements.countAttempts, { machines: starts.map(({ held }) => held.machineId) });
  }
  await coolDown(
    q,
    session,
    failed.map(({ held, backoff }) => ({ held, descriptor: backoff })),
  );
  await quarantine(q, session, failed);
}

async function backOff(
  q: Queries,
  session: LiveSession,
  failed: readonly Failure[],
): Promise<void> {
  const seconds = failed.map(({ held, backoff }) => {
    const previous = held.row.backoffs.find((each) => each.process === held.process);
    return nextBackoffSeconds(backoff, previous?.lastIntervalSeconds ?? null);
  });
  await q.run(statements.backOff, {
    machines: failed.map(({ held }) => held.machineId),
    processes: failed.map(({ held }) => held.process),
    waits: seconds.map((each) => jittered(session, each)),
    causes: failed.map(({ cause }) => cause),
    seconds,
  });
}

/** Parks machines that no operator has parked meanwhile; the permits are given back. */
async function quarantine(
  q: Queries,
  session: LiveSession,
  failed: readonly Failure[],
): Promise<void> {
  const parked = failed.flatMap(({ held, quarantine: how }) =>
    how ? [{ id: held.machineId, ...how }] : [],
  );
  if (parked.length === 0) return;
  const machines = parked.map(({ id }) => id);
  await q.run(statements.quarantine, {
    machines,
    kinds: parked.map(({ kind }) => kind),
    reasons: parked.map(({ reason }) => reason),
    by: session.component,
  });
  await q.run(tags.returnPermits, { machines });
}

/** Lines for the slot's log. */
export function finishEvents({ held, change }: Finish, rungs: Rungs): SlotEvent[] {
  const { machineId } = held;
  switch (change.kind) {
    case 'agentStarted':
      return [{ machineId, kind: 'agentStarted', reason: change.warnings.join('; ') }];
    case 'recovered':
      return [{ machineId, kind: 'recovered', reason: rungs.get(machineId) ?? '' }];
    // Its own is written while there is still a slot to write it for.
    case 'deprovisioned':
    case 'nothing':
      return [];
  }
}

/** Lines for the slot's log. */
export function failureEvents({ held, cause, quarantine: how }: Failure): SlotEvent[] {
  const { machineId, process } = held;
  const failed = { machineId, kind: 'workFailed', reason: `${process}: ${cause}` };
  if (!how) return [failed];
  return [failed, { machineId, kind: 'quarantined', reason: `${how.kind}: ${how.reason}` }];
}
