import { exclusionGroup } from '../../../../domain/eligibility.ts';
import { guardEvent } from '../../../../domain/events/fleet-event.ts';
import { labelsOf } from '../../../../domain/labels.ts';
import type { GuardRow, RequestRow } from '../../../../domain/machine.ts';
import {
  frozenByOperator,
  isOtherFreeze,
  thawedByOperator,
} from '../../../../domain/recovery/guard-judgement.ts';
import type { Effect, Scene } from '../../../../domain/request-result.ts';
import { installationOf } from '../../install-image.ts';
import { writeAsked } from '../balancing/pool-rows.ts';
import { writeFleetEvents } from '../events/write.ts';
import { writeGuardRow } from '../guard/guard-rows.ts';
import { requestAcceptances } from '../recovery/acceptances.ts';
import type { Queries } from '../pool.ts';
import { retiring } from '../recovery/retiring.ts';
import { endRequests } from '../requests/request-ends.ts';
import { statements as episodes } from '../recovery/episodes.ts';
import { statements as requests } from '../requests/requests.ts';
import { LIVE } from '../sql.ts';
import { named, statement } from '../statement.ts';

const MACHINE = { machine: 'uuid' } as const;
const GROUP = exclusionGroup('ShepherdRecovery');

/** True if the ladder's row records an action for an order that is still open. */
const IS_ORDERED = `EXISTS (SELECT 1 FROM operator_intents y
  WHERE y.idempotency_key = machine_recovery.order_key AND y.state = 'open')`;

/** A statement that writes something about one machine. */
const ofMachine = (name: string, text: (machine: string) => string) =>
  statement({ name: `settle-${name}`, params: MACHINE, text: ({ machine }) => text(machine) });
/** Deletes a tag of one machine. */
const drop = (table: string) =>
  ofMachine(`drop-${table}`, (machine) => `DELETE FROM ${table} WHERE machine_id = ${machine}`);

export const statements = named('settle', {
  hold: statement({
    params: {
      ...{ provider: 'text', slot: 'text', kind: 'text', by: 'text', reason: 'text' },
      ...{ fromMs: 'float8?', untilMs: 'float8?', force: 'bool' },
    },
    text: ({ provider, slot, kind, by, reason, fromMs, untilMs, force }) =>
      `INSERT INTO slot_holds (provider, slot_id, kind, set_by, reason, from_at, until, force)
       VALUES (${provider}, ${slot}, ${kind}, ${by}, ${reason}, to_timestamp(${fromMs} / 1000),
         to_timestamp(${untilMs} / 1000), ${force})
       ON CONFLICT (provider, slot_id, kind) DO UPDATE SET set_by = excluded.set_by,
         reason = excluded.reason, set_at = now(), from_at = excluded.from_at,
         until = excluded.until, force = excluded.force`,
  }),
  unhold: statement({
    params: { provider: 'text', slot: 'text', kind: 'text' },
    text: ({ provider, slot, kind }) =>
      `DELETE FROM slot_holds
       WHERE provider = ${provider} AND slot_id = ${slot} AND kind = ${kind}`,
  }),
  label: statement({
    params: { provider: 'text', slot: 'text', labels: 'jsonb' },
    text: ({ provider, slot, labels }) =>
      `INSERT INTO slot_labels (provider, slot_id, labels) VALUES (${provider}, ${slot}, ${labels})
       ON CONFLICT (provider, slot_id) DO UPDATE SET labels = excluded.labels`,
  }),
  /** Never replaces a quarantine for a contradiction, which may have been found meanwhile. */
  quarantine: statement({
    params: { ...MACHINE, by: 'text', reason: 'text', until: 'float8?' },
    columns: { machine_id: 'uuid' },
    text: ({ machine, by, reason, until }) =>
      `INSERT INTO machine_quarantined AS q (machine_id, kind, reason, until, set_by)
       VALUES (${machine}, 'byOperator', ${reason}, to_timestamp(${until} / 1000), ${by})
       ON CONFLICT (machine_id) DO UPDATE SET kind = excluded.kind, reason = excluded.reason,
         until = excluded.until, set_by = excluded.set_by, cause = NULL
         WHERE q.kind <> 'conflict' OR q.until <= now()
       RETURNING q.machine_id`,
  }),
  /** Running work needs its permit until the end. */
  returnPermit: ofMachine(
    'return-permit',
    (machine) => `DELETE FROM recovery_permits e WHERE e.machine_id = ${machine} AND NOT EXISTS (
         SELECT 1 FROM work w JOIN sessions s ON s.session_id = w.session_id AND ${LIVE}
         WHERE w.machine_id = e.machine_id AND w.exclusion_group = '${GROUP}')`,
  ),
  liftQuarantine: ofMachine(
    'lift-quarantine',
    (machine) =>
      `DELETE FROM machine_quarantined WHERE machine_id = ${machine} AND kind <> 'conflict'`,
  ),
  /** The first request stays, but the last one decides how the machine leaves its pools. */
  deprovision: statement({
    params: { ...MACHINE, by: 'text', reason: 'text', drain: 'text?', pool: 'bool' },
    text: ({ machine, by, reason, drain, pool }) =>
      `INSERT INTO machine_deprovision_request
         (machine_id, requested_by, reason, drain, return_to_pool)
       VALUES (${machine}, ${by}, ${reason}, ${drain}, ${pool})
       ON CONFLICT (machine_id) DO UPDATE SET drain = excluded.drain`,
  }),
  /** A trigger resets the hand-out for a new generation. */
  install: statement({
    params: { ...MACHINE, generation: 'int8', raw: 'bytea' },
    text: ({ machine, generation, raw }) =>
      `INSERT INTO machine_os_installation_request
         (machine_id, generation, os_installation_request_raw)
       VALUES (${machine}, ${generation}, ${raw})
       ON CONFLICT (machine_id) DO UPDATE SET generation = excluded.generation,
         os_installation_request_raw = excluded.os_installation_request_raw`,
  }),
  /** Nothing that has not seen the request can begin to serve. See `members-write`. */
  keepIdle: ofMachine(
    'keep-idle',
    (machine) => `UPDATE work SET epoch = nextval('work_epoch')
       WHERE machine_id = ${machine} AND exclusion_group = '${GROUP}' AND session_id IS NULL`,
  ),
  cancelInstall: statement({
    params: { ...MACHINE, generation: 'int8' },
    columns: { machine_id: 'uuid' },
    text: ({ machine, generation }) =>
      `DELETE FROM machine_os_installation_request
       WHERE machine_id = ${machine} AND generation = ${generation} AND handed_out_at IS NULL
       RETURNING machine_id`,
  }),
  endCoolDown: ofMachine(
    'end-cool-down',
    (machine) => `UPDATE machine_recovery SET next_at = NULL
       WHERE machine_id = ${machine} AND next_at IS NOT NULL`,
  ),
  /** The power-off request is no attempt: the next work on the machine first switches it on. */
  resetOrdered: ofMachine(
    'reset-ordered-ladder',
    (
      machine,
    ) => `UPDATE machine_recovery SET rung = 'restartingAgent', attempts = 0, next_at = NULL,
         cool_down_seconds = NULL
       WHERE machine_id = ${machine} AND ${IS_ORDERED}`,
  ),
  resetLadder: ofMachine(
    'reset-ladder',
    (
      machine,
    ) => `UPDATE machine_recovery SET rung = 'restartingAgent', attempts = 0, next_at = NULL,
         cool_down_seconds = NULL, asked_at = NULL, asked_rung = NULL, order_key = NULL,
         operation_ref = NULL, boot_id_before = NULL, host_key_before = NULL, off_seen_at = NULL
       WHERE machine_id = ${machine} AND power_off_asked_at IS NOT NULL AND NOT ${IS_ORDERED}`,
  ),
  dropLadder: ofMachine(
    'drop-ladder',
    (machine) => `DELETE FROM machine_recovery
       WHERE machine_id = ${machine} AND power_off_asked_at IS NULL AND NOT ${IS_ORDERED}`,
  ),
  /** A machine whose power is still off stays with the ladder. */
  dropAttempt: ofMachine(
    'drop-attempt',
    (
      machine,
    ) => `DELETE FROM machine_agent_start_attempt WHERE machine_id = ${machine} AND NOT EXISTS (
         SELECT 1 FROM machine_recovery l WHERE l.machine_id = ${machine})`,
  ),
  /** See `wasAskedFor`. */
  askedFor: statement({
    params: { ...MACHINE, order: 'text' },
    columns: { machine_id: 'uuid' },
    text: ({ machine, order }) =>
      `SELECT machine_id FROM machine_recovery
       WHERE machine_id = ${machine} AND order_key = ${order}`,
  }),
  /** Lifts holds of the given kind, and penalties of slots after failed creations. */
  clearProvider: statement({
    params: { provider: 'text', kind: 'text?', shelf: 'text[]' },
    text: ({ provider, kind, shelf }) =>
      `DELETE FROM provider_holds
       WHERE provider = ${provider}
         AND (kind = ${kind} OR (kind = 'penalty' AND key = ANY (${shelf})))`,
  }),
  ...retiring,
  dropQuarantine: drop('machine_quarantined'),
  dropBackoffs: drop('work_backoff'),
  dropHostKey: drop('machine_ssh_host_key'),
});

type Write<E> = (q: Queries, scene: Scene, effect: E) => Promise<unknown>;

/** Writes the verb's effect; false if a concurrent write forbids it. */
const WRITES: { readonly [V in Effect['verb']]: Write<Extract<Effect, { readonly verb: V }>> } = {
  hold: (q, { request }, effect) =>
    q.run(statements.hold, { ...effect, ...request, ...slotOf(request) }),
  unhold: (q, { request }, { kind }) => q.run(statements.unhold, { ...slotOf(request), kind }),
  label: (q, { request }, { labels }) =>
    q.run(statements.label, { ...slotOf(request), labels: Object.fromEntries(labelsOf(labels)) }),
  freeze: (q, scene) => freezeScope(q, scene, null),
  'freeze-until': (q, scene, { untilMs }) => freezeScope(q, scene, untilMs),
  thaw: (q, scene) => writeGuard(q, scene, thawedByOperator(scene.guard!, scene.now.nowMs)),
  'clear-provider': (q, { request }, { hold: kind, shelf }) =>
    q.run(statements.clearProvider, { provider: request.provider!, kind, shelf }),
  'pause-pool': writePools,
  'resume-pool': writePools,
  'thaw-pool': writePools,
  'teardown-pool': writePools,
  quarantine: async (q, { request }, { untilMs: until }) => {
    const { by, reason } = request;
    const machine = request.machineId!;
    const written = await q.rows(statements.quarantine, { machine, by, reason, until });
    if (written.length === 0) return false;
    await q.run(statements.returnPermit, { machine });
    return true;
  },
  release: async (q, { request }, { forgetHostKey }) => {
    await release(q, request.machineId!, forgetHostKey);
    await q.run(episodes.forgive, slotOf(request));
  },
  retire: async (q, { request }, { giveBack }) => {
    const { by, reason } = request;
    const hold = { kind: 'retired', fromMs: null, untilMs: null, force: false } as const;
    await q.run(statements.hold, { ...hold, ...request, ...slotOf(request) });
    const told = { ...slotOf(request), by, reason };
    const machines = await q.rows(statements.retire, told);
    for (const { machine_id: machine } of machines)
      await q.run(statements.returnPermit, { machine });
    if (giveBack) await q.run(statements.giveBack, told);
  },
  unretire: async (q, { request }) => {
    await q.run(statements.unhold, { ...slotOf(request), kind: 'retired' });
    const machines = await q.rows(statements.retired, slotOf(request));
    for (const { machine_id } of machines) await release(q, machine_id, false);
    await q.run(episodes.forgive, slotOf(request));
    const there = request.machineId === null ? [] : [request.machineId];
    await requestAcceptances(q, there, 'unretired');
  },
  accept: (q, { request }) => requestAcceptances(q, [request.machineId!], 'asked'),
  deprovision: async (q, { request }, { drain, returnToPool: pool }) => {
    const { by, reason } = request;
    const machine = request.machineId!;
    await q.run(statements.deprovision, { machine, by, reason, drain, pool });
    await q.run(statements.liftQuarantine, { machine });
  },
  install: async (q, { request }, { generation, image }) => {
    const machine = request.machineId!;
    const raw = Buffer.from(installationOf(image, generation));
    await q.run(statements.install, { machine, generation, raw });
    await q.run(statements.keepIdle, { machine });
  },
  'cancel-install': async (q, { request }, { generation }) => {
    const machine = request.machineId!;
    return (await q.rows(statements.cancelInstall, { machine, generation })).length > 0;
  },
  withdraw,
  'clear-backoff': async (q, { request }) => {
    const machine = request.machineId!;
    await q.run(statements.dropBackoffs, { machine });
    await q.run(statements.endCoolDown, { machine });
  },
};

/**
 * Applies a request. Its subject must be locked.
 * @returns false if a concurrent write forbids it; nothing was done.
 */
export async function applyEffect(q: Queries, scene: Scene, effect: Effect): Promise<boolean> {
  const write = WRITES[effect.verb] as Write<Effect>;
  return (await write(q, scene, effect)) !== false;
}

const slotOf = ({ provider, slotId }: RequestRow) => ({ provider: provider!, slot: slotId! });

async function writePools(q: Queries, _: Scene, { rows }: Extract<Effect, { rows: unknown }>) {
  for (const row of rows) await writeAsked(q, row);
}

async function writeGuard(q: Queries, { request, guard }: Scene, row: GuardRow): Promise<void> {
  await writeGuardRow(q, row);
  const isOther = isOtherFreeze(guard!, row);
  await writeFleetEvents(q, isOther ? [guardEvent(row, request)] : []);
}

function freezeScope(q: Queries, scene: Scene, untilMs: number | null): Promise<void> {
  const { guard, request, now } = scene;
  return writeGuard(q, scene, frozenByOperator(guard!, request, { nowMs: now.nowMs, untilMs }));
}

/**
 * A daemon that notes the order's request holds its row, or waits for this transaction and finds
 * the order ended.
 */
async function withdraw(
  q: Queries,
  { request }: Scene,
  { order: key, outcome }: Extract<Effect, { outcome: unknown }>,
): Promise<boolean> {
  const machine = request.machineId!;
  const [row] = await q.rows(requests.lock, { key });
  if (row?.state !== 'open') return false;
  if ((await q.rows(statements.askedFor, { machine, order: key })).length > 0) return false;
  await endRequests(q, null, [{ key, state: 'refused', outcome, event: null }]);
  return true;
}

/**
 * Ends a quarantine and forgets what led to it. The note of what was done for an open order stays:
 * without it, the next daemon would carry out the order a second time.
 */
async function release(q: Queries, machine: string, forgetHostKey: boolean): Promise<void> {
  const { dropBackoffs, dropAttempt, dropLadder, dropQuarantine, dropHostKey } = statements;
  const { resetOrdered, resetLadder } = statements;
  const drops = [dropBackoffs, dropLadder, resetOrdered, resetLadder, dropAttempt, dropQuarantine];
  for (const each of forgetHostKey ? [...drops, dropHostKey] : drops) {
    await q.run(each, { machine });
  }
  await q.run(statements.returnPermit, { machine });
}
