import { acceptanceState, acceptanceText } from './acceptance.ts';
import { currentHeartbeat } from './eligibility.ts';
import { slot, type MachineId, type ProviderName } from './ids.ts';
import type { GuardRow, MachineRow, SlotFacts } from './machine.ts';
import type { LossPolicy } from './policy.ts';
import { FLEET } from './recovery/guard-judgement.ts';
import type { DrainMode, OrderVerb } from './verbs.ts';

/** Rolling actions: one order after another over many machines, in batches. */

export const ROLL_STATES = ['running', 'paused', 'stopped', 'done', 'aborted'] as const;
export type RollState = (typeof ROLL_STATES)[number];

/** A machine as it matched when the roll was made. */
export interface RollSlot {
  readonly provider: ProviderName;
  readonly slotId: string;
  readonly machineId: MachineId;
}

/** A machine on which the action failed, and why. */
export interface RollFailure {
  readonly slot: string;
  readonly why: string;
}

export interface RollRow {
  readonly id: string;
  readonly action: OrderVerb;
  readonly drain: DrainMode | null;
  /** The filter as it was given, for people. */
  readonly filter: string;
  /** The machines in their order. */
  readonly slots: readonly RollSlot[];
  /** Number of machines in the first batch; 0: as in the others. */
  readonly canary: number;
  readonly batch: number;
  readonly pauseMs: number;
  readonly stopOnFailure: boolean;
  readonly by: string;
  readonly role: string;
  readonly proven: boolean;
  readonly reason: string;
  readonly createdAtMs: number;
  readonly state: RollState;
  /** What it waits for, or why it ended; null: nothing. */
  readonly note: string | null;
  /** Number of machines in the batches that are over. */
  readonly position: number;
  /** The next batch begins after this time; null: at once. */
  readonly nextAtMs: number | null;
  readonly failures: readonly RollFailure[];
}

/** The key of the order for a machine: one key makes one order. */
export const rollOrderKey = ({ id }: Pick<RollRow, 'id'>, at: RollSlot): string =>
  `${id}/${slot(at.provider, at.slotId)}`;

/** A number, or a share such as `5%`, of the machines: at least 1. Null: it is neither. */
export function batchOf(text: string, machines: number): number | null {
  const [, digits, percent] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  if (digits === undefined) return null;
  const number = percent ? Math.floor((machines * Number(digits)) / 100) : Number(digits);
  return Math.max(1, Math.min(machines, number));
}

type Batched = Pick<RollRow, 'slots' | 'canary' | 'batch' | 'position'>;
/** The machines of the batch that begins at the position. */
export const currentBatch = ({ slots, canary, batch, position }: Batched): readonly RollSlot[] =>
  slots.slice(position, position + (position === 0 && canary > 0 ? canary : batch));

/** All batches, in order. */
export function batchesOf(roll: Omit<Batched, 'position'>): readonly (readonly RollSlot[])[] {
  const found: (readonly RollSlot[])[] = [];
  for (let position = 0; position < roll.slots.length; position += found.at(-1)!.length)
    found.push(currentBatch({ ...roll, position }));
  return found;
}

/** The number of the batch that goes on, from 1. */
export function batchNumber(batches: readonly (readonly unknown[])[], position: number): number {
  let machines = 0;
  const at = batches.findIndex((batch) => (machines += batch.length) > position);
  return at < 0 ? batches.length : at + 1;
}

/** An order of the roll as it is stored. */
export interface RollOrder {
  readonly state: 'open' | 'done' | 'refused';
  readonly outcome: string | null;
  readonly createdAtMs: number;
  readonly settledAtMs: number | null;
}

export interface RollScene {
  readonly facts: (at: RollSlot) => SlotFacts | undefined;
  /** Whether people see it as `Running`, `healthy`. */
  readonly isHealthy: (at: RollSlot) => boolean;
  /** The orders that exist, by key. */
  readonly orders: ReadonlyMap<string, RollOrder>;
  /** Why planned work on the machine waits for a window; null: it does not. */
  readonly windowRefusal: (at: RollSlot) => string | null;
  readonly guard: readonly GuardRow[];
  readonly loss: LossPolicy;
  /** How long the machine may need after its order is done. */
  readonly patienceMs: (at: RollSlot) => number;
  readonly nowMs: number;
}

/** What happens with the roll now. */
export type RollStep =
  | { readonly kind: 'order'; readonly slots: readonly RollSlot[] }
  | { readonly kind: 'wait'; readonly why: string }
  /** The batch is over. */
  | {
      readonly kind: 'next';
      readonly position: number;
      readonly nextAtMs: number;
      readonly failed: readonly RollFailure[];
    }
  | { readonly kind: 'stop'; readonly failed: readonly RollFailure[] }
  | { readonly kind: 'done'; readonly failed: readonly RollFailure[] };

/** Heartbeats for this many periods after the order prove that the machine is back. */
const PERIODS = 3;

type Standing =
  | { readonly kind: 'ready' | 'over' }
  | { readonly kind: 'waits' | 'failed'; readonly why: string };

/** Decides the next step of a running roll. Deterministic. */
export function planRoll(roll: RollRow, scene: RollScene): RollStep {
  if (roll.nextAtMs !== null && roll.nextAtMs > scene.nowMs) {
    return {
      kind: 'wait',
      why: `the next batch begins at ${new Date(roll.nextAtMs).toISOString()}`,
    };
  }
  const batch = currentBatch(roll);
  const all = batch.map((at) => ({ at, is: standingOf(roll, at, scene) }));
  const failed = all.flatMap(({ at, is }) =>
    is.kind === 'failed' ? [{ slot: nameOf(at), why: is.why }] : [],
  );
  if (failed.length > 0 && roll.stopOnFailure) return { kind: 'stop', failed };
  const ready = all.filter(({ is }) => is.kind === 'ready').map(({ at }) => at);
  if (ready.length > 0) return { kind: 'order', slots: ready };
  for (const { at, is } of all) {
    if (is.kind === 'waits') return { kind: 'wait', why: `${nameOf(at)}: ${is.why}` };
  }
  const position = roll.position + batch.length;
  if (position >= roll.slots.length) return { kind: 'done', failed };
  return { kind: 'next', position, nextAtMs: scene.nowMs + roll.pauseMs, failed };
}

const nameOf = ({ provider, slotId }: RollSlot): string => slot(provider, slotId);
const waits = (why: string): Standing => ({ kind: 'waits', why });
const failed = (why: string): Standing => ({ kind: 'failed', why });

function standingOf(roll: RollRow, at: RollSlot, scene: RollScene): Standing {
  const facts = scene.facts(at);
  const order = scene.orders.get(rollOrderKey(roll, at));
  if (facts?.row?.machineId !== at.machineId) return failed('the machine is gone from its slot');
  if (!order) return beforeOrder(at, facts, scene);
  if (order.state === 'refused') return failed(order.outcome ?? 'its order was refused');
  // Announced work is not the order's fault.
  const worse = facts.conditions.find(
    ({ type, status, sinceMs, fromMs }) =>
      status === 'True' &&
      type !== 'maintenance-announced' &&
      (fromMs ?? 0) <= scene.nowMs &&
      Math.max(sinceMs, fromMs ?? 0) >= order.createdAtMs,
  );
  // Where a failure stops nothing, the next batch must not begin beside an open order.
  const isOver = order.state !== 'open' || roll.stopOnFailure;
  if (worse && isOver) return failed(`its condition ${worse.type} is True: ${worse.reason}`);
  if (order.state === 'open') return waits('its order is not carried out yet');
  const { loss, nowMs } = scene;
  const provedAtMs = order.settledAtMs! + PERIODS * loss.periodMs;
  const heardAtMs = currentHeartbeat(facts.row)?.atMs ?? -Infinity;
  if (heardAtMs >= provedAtMs && scene.isHealthy(at))
    return acceptedStanding(facts.row, order.createdAtMs, nowMs);
  const lastMs = provedAtMs + scene.patienceMs(at) + loss.firstHeartbeatMs;
  return nowMs > lastMs
    ? failed('it is not healthy again after its order')
    : waits('it has not been healthy for long enough yet');
}

/** A healthy machine is over with an acceptance that its order caused. */
function acceptedStanding({ acceptance }: MachineRow, sinceMs: number, nowMs: number): Standing {
  if (!acceptance || acceptance.askedAtMs < sinceMs) return { kind: 'over' };
  const why = acceptanceText(acceptance, nowMs);
  if (why === null) return { kind: 'over' };
  const isOpen = ['waiting', 'due'].includes(acceptanceState(acceptance, nowMs));
  return isOpen ? waits(why) : failed(why);
}

/** Why the order is not submitted yet. */
function beforeOrder(at: RollSlot, { row }: SlotFacts, scene: RollScene): Standing {
  const frozen = scene.guard.find(
    (each) => each.frozen !== null && [FLEET, at.provider].includes(each.scope),
  )?.frozen;
  if (frozen) return waits(`recovery is frozen by ${frozen.by} (${frozen.reason})`);
  const closed = scene.windowRefusal(at);
  if (closed !== null) return waits(closed);
  if (row!.order) return waits(`it has an open order by ${row!.order.by}`);
  return { kind: 'ready' };
}
