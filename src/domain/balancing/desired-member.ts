import {
  holdOn,
  installState,
  isHeartbeating,
  isInstallationDue,
  isLost,
  orderFor,
  lostAtMs,
} from '../eligibility.ts';
import { slotIdOf } from '../ids.ts';
import type { HoldKind, MachineRow, SlotFacts } from '../machine.ts';
import type { LossPolicy } from '../policy.ts';
import { FLEET } from '../recovery/guard-judgement.ts';
import type { GuardStatus } from '../recovery/guard-status.ts';
import type { MachineView } from '../view.ts';
import { canonicalAddress, isSelected, type Pool } from './pools.ts';
import { NO_ADDRESS } from './desired.ts';
import type { DesiredMember } from './members.ts';

/** The moment and circumstances, besides the machine, that determine a desired member. */
export interface WishMoment {
  /** Database clock, epoch ms. */
  readonly nowMs: number;
  readonly loss: LossPolicy;
  readonly standings: readonly GuardStatus[];
}

type DrainRequest = Omit<Extract<DesiredMember, { want: 'drain' }>, 'want' | 'slot' | 'machineId'>;

/**
 * Decides the desired state of a machine in a pool. Pure and total.
 * @returns null: there is no machine, or the machine neither is nor ever was a member.
 */
export function wishOf(
  facts: SlotFacts,
  view: MachineView,
  pool: Pick<Pool, 'pool' | 'select' | 'memberStates'>,
  now: WishMoment,
): DesiredMember | null {
  const { row, slot } = facts;
  if (!row) return null;
  const { machineId } = row;
  const isKnown = row.members.some((each) => each.pool === pool.pool);
  const chosen = isChosen(facts, pool);
  if (chosen !== true && !isKnown) return null;
  const keep = (reason: string): DesiredMember => ({ want: 'keep', slot, machineId, reason });
  if (row.unreadable !== undefined) return keep(row.unreadable);
  const asked = askedToLeave(facts, row, now);
  const illness = illnessOf(row, view, pool, now);
  const doubt = illness === SILENT ? doubtOf(facts, now) : null;
  if (illness !== null && doubt === null) {
    const ordered = isWorkedOnByOrder(row, now) ? ({ isOrdered: true } as const) : {};
    return { want: 'drop', slot, machineId, reason: illness, ...ordered };
  }
  // A request to leave applies in any condition, whatever caused the silence.
  if (doubt !== null && !asked) return keep(doubt);
  if (asked) return { want: 'drain', slot, machineId, ...asked };
  if (chosen === null) return keep('whether the pool selects it is unknown now');
  if (!chosen) {
    return { want: 'drain', slot, machineId, reason: DESELECTED, ...PARKED, isUnasked: true };
  }
  const address = memberAddress(view.address);
  if (address === null) return keep(NO_ADDRESS);
  return { want: 'serve', slot, machineId, address };
}

/** The address at which a balancer reaches a machine, in canonical form; null: none. */
export function memberAddress(address: string | null): string | null {
  if (address === null) return null;
  const whole = canonicalAddress(address);
  if (whole !== null) return whole;
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(address) ?? [];
  return canonicalAddress(bracketed ?? plain ?? '');
}

const SILENT = 'it is silent';
/** Why a machine leaves that no pool selects. */
export const DESELECTED = 'the pool does not select it';
/** No request waits for the machine, and nobody plans to bring it back soon. */
const PARKED = { force: false, askedAtMs: null, leaves: true } as const;

const isChosen = (
  { row, listed, provider }: SlotFacts,
  { select }: Pick<Pool, 'select'>,
): boolean | null =>
  isSelected(select, {
    provider,
    location: row?.provided?.location ?? listed?.location ?? null,
    listed,
  });

const BARRING_SERVICE: readonly HoldKind[] = ['no-serve', 'retired'];

/** The request that wants a healthy machine interrupted or out of its pools; null: none. */
function askedToLeave(
  facts: SlotFacts,
  row: MachineRow,
  { nowMs }: WishMoment,
): DrainRequest | null {
  const { deprovision, order, quarantine } = row;
  if (deprovision) {
    return {
      reason: `${deprovision.requestedBy} asked to give it back: ${deprovision.reason}`,
      force: deprovision.drain === 'force',
      askedAtMs: deprovision.requestedAtMs,
      leaves: true,
    };
  }
  if (order && order.expiresAtMs > nowMs) {
    return {
      reason: `${order.by} asked for ${order.verb}: ${order.reason}`,
      force: order.drain === 'force',
      askedAtMs: facts.requests.find(({ key }) => key === order.key)?.createdAtMs ?? null,
    };
  }
  const isAside = quarantine?.kind === 'byOperator' && (quarantine.untilMs ?? Infinity) > nowMs;
  if (isAside) return { reason: quarantine.reason, ...PARKED };
  const { holds, provider, slot } = facts;
  const at = { provider, slotId: slotIdOf(slot) };
  const [hold] = BARRING_SERVICE.flatMap((kind) => holdOn(at, kind, { holds, nowMs }) ?? []);
  if (hold) {
    return { reason: `${hold.setBy}: ${hold.reason}`, ...PARKED, force: hold.force === true };
  }
  if (!isInstallationDue(row)) return null;
  return { reason: 'an operating system will be installed', force: false, askedAtMs: null };
}

/** An order's work is under way on the machine, whether or not it waited for the balancers. */
const isWorkedOnByOrder = (row: MachineRow, { nowMs }: WishMoment): boolean =>
  row.work.some(
    ({ process }) =>
      orderFor(process, row, nowMs) !== null ||
      (process === 'ShepherdDeprovision' && row.deprovision !== null),
  );

/** Somebody put the machine aside, whatever its health. */
const isSetAside = (substate: string): boolean =>
  substate === 'byOperator' || substate === 'retired';

/** Why the machine cannot serve; null: it can, although a request may want it to leave. */
function illnessOf(
  row: MachineRow,
  { state, substate, reason }: MachineView,
  { memberStates }: Pick<Pool, 'memberStates'>,
  { nowMs, loss }: WishMoment,
): string | null {
  const status = row.provided?.status ?? null;
  if (status !== null && status !== 'Running' && status !== 'Unknown') {
    return `its provider says that it is ${status}`;
  }
  if (state === 'Deprovisioning' || isSetAside(substate)) {
    // During such work, the state shows the requester and no longer the machine's health.
    if (installState(row) === 'DONE') return null;
    if (isLost(row, nowMs, loss)) return SILENT;
    return row.agentStarted ? null : 'its agent is not started';
  }
  if (state === 'Running' && substate === 'silent') return SILENT;
  // The installing agent reboots the machine next, and must not do so while it serves.
  if (state === 'HandedOver' && isHeartbeating(row, nowMs, loss)) return 'its agent is still there';
  const isMember = (memberStates as readonly string[]).includes(state);
  const isWell = state !== 'Running' || substate === 'healthy' || substate === 'late';
  if (isMember && isWell) return null;
  return `it is ${state} · ${substate}${reason === null ? '' : `: ${reason}`}`;
}

/** Why the fault may be ours and not the machine's; null: it is the machine's. */
function doubtOf({ provider }: SlotFacts, { standings }: WishMoment): string | null {
  const concerned = standings.filter(({ scope }) => scope === FLEET || scope === provider);
  if (concerned.length === 0) return 'nobody has assessed the fleet yet';
  const doubtful = concerned.find(
    ({ state }) => state === 'frozen' || state === 'grace' || state === 'blind',
  );
  return doubtful ? `it is silent, and the guard is ${doubtful.state}` : null;
}

/** Whether the guard or the last heartbeat's age alone can change the desired membership. */
export const restsOnGuard = ({ state, substate }: MachineView): boolean =>
  substate === 'silent' ||
  isSetAside(substate) ||
  state === 'Deprovisioning' ||
  state === 'HandedOver';

/**
 * The moment after which the clock alone may change the desired membership, epoch ms; null: never.
 * All times that `wishOf` compares with the clock are listed here. The guard reports its own
 * changes.
 */
export function wishDueAtMs(
  { row, holds }: Pick<SlotFacts, 'row' | 'holds'>,
  { nowMs, loss }: Pick<WishMoment, 'nowMs' | 'loss'>,
): number | null {
  if (!row) return null;
  const limits = [
    row.order?.expiresAtMs,
    row.quarantine?.untilMs,
    // After an installation, the agent counts as gone from this moment on.
    lostAtMs(row, loss),
    ...holds.flatMap(({ fromMs, untilMs }) => [fromMs, untilMs]),
  ];
  const ahead = limits.filter((at) => typeof at === 'number' && at >= nowMs) as number[];
  return ahead.length === 0 ? null : Math.min(...ahead);
}
