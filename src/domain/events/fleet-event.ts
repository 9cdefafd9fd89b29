import { type MachineId, type ProviderName, slot, providerName } from '../ids.ts';
import type { GuardRow } from '../machine.ts';
import { FLEET, type GuardChange } from '../recovery/guard-judgement.ts';

/** All types of events for readers and webhooks. The meaning of a type never changes. */
export const EVENT_TYPES = [
  'machine.created',
  'machine.agent_started',
  'machine.silent',
  'machine.back',
  'machine.recovering',
  'machine.recovered',
  'machine.needs_human',
  'machine.quarantined',
  'machine.released',
  'machine.retired',
  'machine.unretired',
  'machine.accepted',
  'machine.acceptance_failed',
  'machine.handed_over',
  'machine.deprovisioned',
  'hold.set',
  'hold.removed',
  'hold.expired',
  'condition.set',
  'condition.cleared',
  'condition.unknown',
  'case.opened',
  'case.noted',
  'case.linked',
  'case.closed',
  'request.filed',
  'request.settled',
  'guard.frozen',
  'guard.thawed',
  'provider.breaker_opened',
  'provider.breaker_closed',
  'provider.hold_set',
  'provider.ssh_key_replaced',
  'roll.started',
  'roll.stopped',
  'roll.done',
  'roll.aborted',
  'session.expired',
  'access.login',
  'access.refused',
  'access.token_created',
  'access.revoked',
  'log.level_set',
  'webhook.test',
  'webhook.disabled',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];
export const isEventType = (text: string): text is EventType =>
  (EVENT_TYPES as readonly string[]).includes(text);

export type EventDetails = Readonly<Record<string, string | number | boolean | null>>;

/** An event as readers get it. It is small: readers fetch details themselves. */
export interface FleetEvent {
  /** Position in the single order of all events: a whole number, as text. Gaps are possible. */
  readonly number: string;
  readonly type: EventType;
  /** Database clock, epoch ms. */
  readonly atMs: number;
  /** Null, as in the next two fields: the event concerns none. */
  readonly provider: ProviderName | null;
  readonly slotId: string | null;
  readonly machineId: MachineId | null;
  /** A component, or a person as in the audit. */
  readonly actor: string;
  readonly reason: string;
  /** State before and after, as people see it; null: no change, or unknown. */
  readonly from: string | null;
  readonly to: string | null;
  /** Additional fields of this type. */
  readonly details: EventDetails;
}

/** An event to write. The database assigns the time and the number. */
export type NewEvent = Pick<FleetEvent, 'type' | 'actor' | 'reason' | 'details'> &
  Partial<Pick<FleetEvent, 'provider' | 'slotId' | 'machineId'>>;

/** The types with these names, each a type or a group (`machine.*`). Absent: all types. */
export function typesNamed(names: readonly string[] | undefined): readonly EventType[] {
  if (names === undefined) return EVENT_TYPES;
  return EVENT_TYPES.filter((type) =>
    names.some((name) => name === type || (isGroup(name) && type.startsWith(name.slice(0, -1)))),
  );
}

/** Whether a name matches any type. */
export const namesTypes = (name: string): boolean => typesNamed([name]).length > 0;

const isGroup = (name: string): boolean => name.endsWith('.*');

/** An event in the JSON form of CloudEvents 1.0. */
export interface CloudEvent {
  readonly specversion: '1.0';
  /**
   * Number and time of the event, the same in each delivery. A restored database reuses numbers,
   * but never a time.
   */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  /** The slot or provider concerned; absent: the fleet. */
  readonly subject?: string;
  /** RFC 3339. */
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: Readonly<Record<string, unknown>>;
}

/** @param source URI that identifies the fleet. */
export function cloudEventOf(event: FleetEvent, source: string): CloudEvent {
  const { number, type, atMs, provider, slotId, machineId, actor, reason, from, to } = event;
  const place = provider !== null && slotId !== null ? slot(provider, slotId) : null;
  const subject = place ?? provider;
  return {
    ...{ specversion: '1.0', id: `${number}-${Math.trunc(atMs)}`, source, type },
    ...(subject !== null && { subject }),
    time: new Date(atMs).toISOString(),
    datacontenttype: 'application/json',
    data: {
      ...{ number, slot: place, provider, machineId, actor, reason, from, to },
      details: event.details,
    },
  };
}

/** The actor of events that no person caused. */
const GUARD = 'guard';

/** The event for a change of the guard that no operator requested. */
export function changeEvent(row: GuardRow, { now }: GuardChange): NewEvent {
  const reason = now === 'ended' ? 'the freeze has reached its end' : 'it is calm again';
  return guardEvent(row, { by: GUARD, reason });
}

/** The event for a scope that the guard just froze or thawed. @param who thawed it. */
export function guardEvent(
  { scope, frozen }: GuardRow,
  who: { readonly by: string; readonly reason: string },
): NewEvent {
  const about = { provider: scope === FLEET ? null : providerName(scope) };
  if (frozen === null) {
    return {
      type: 'guard.thawed',
      ...about,
      actor: who.by,
      reason: who.reason,
      details: { scope },
    };
  }
  const { by: actor, reason, kind, untilMs } = frozen;
  const details = { scope, kind, ...(untilMs !== null && { untilMs: Math.round(untilMs) }) };
  return { type: 'guard.frozen', ...about, actor, reason, details };
}

/** The event form of a line in a slot's log. */
export interface LineEvent {
  readonly type: EventType;
  readonly reason: string;
  readonly details: EventDetails;
}

/** Kinds of lines that may become events, with their types. Other kinds stay history. */
const TYPES_OF: Readonly<Record<string, readonly EventType[]>> = {
  adopted: ['machine.created'],
  agentStarted: ['machine.agent_started'],
  fellSilent: ['machine.silent'],
  heardAgain: ['machine.back'],
  recovered: ['machine.recovered'],
  quarantined: ['machine.needs_human', 'machine.quarantined'],
  released: ['machine.released'],
  retired: ['machine.retired'],
  unretired: ['machine.unretired'],
  accepted: ['machine.accepted'],
  acceptanceFailed: ['machine.acceptance_failed'],
  installReported: ['machine.handed_over'],
  deprovisioned: ['machine.deprovisioned'],
  held: ['hold.set'],
  unheld: ['hold.removed'],
  conditionSet: ['condition.set'],
  conditionCleared: ['condition.cleared'],
  conditionUnknown: ['condition.unknown'],
};

/** Kinds of lines that may become events of these types. */
export const slotKindsOf = (types: readonly EventType[]): readonly string[] =>
  Object.entries(TYPES_OF)
    .filter(([, told]) => told.some((type) => types.includes(type)))
    .map(([kind]) => kind);

/** A line in a slot's log, as far as its event depends on it. */
export interface SlotLine {
  readonly kind: string;
  readonly reason: string;
  readonly actor: string;
  readonly to: string | null;
}

/** The event form of the line; null: the line is no event. */
export function eventOfLine({ kind, reason, actor, to }: SlotLine): LineEvent | null {
  const [type] = Object.hasOwn(TYPES_OF, kind) ? TYPES_OF[kind]! : [];
  if (type === undefined) return null;
  switch (kind) {
    case 'quarantined': {
      const [what, why] = parted(reason);
      if (what === 'needsHuman') return { type: 'machine.needs_human', reason: why, details: {} };
      return { type: 'machine.quarantined', reason: why, details: { kind: what } };
    }
    case 'installReported': {
      const [generation, result] = parted(reason);
      if (result !== 'Success') return null;
      return {
        type,
        reason: 'its system was installed',
        details: { generation: generation.replace('generation ', '') },
      };
    }
    case 'held':
    case 'unheld': {
      const [what, why] = parted(reason);
      return { type, reason: why, details: { kind: what } };
    }
    case 'conditionSet':
    case 'conditionCleared':
    case 'conditionUnknown': {
      const [condition, why] = parted(reason);
      return { type, reason: why, details: { condition, source: actor, status: to } };
    }
    default:
      return { type, reason, details: {} };
  }
}

/** Splits a line's text at its first colon: `no-recover: being looked at`. */
function parted(reason: string): [string, string] {
  const at = reason.indexOf(': ');
  return at < 0 ? [reason, ''] : [reason.slice(0, at), reason.slice(at + 2)];
}
