import type { MachineId, ProviderName } from '../ids.ts';

/** Everything that readers of events and webhooks are told of. A type is never given another meaning. */
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
  'machine.handed_over',
  'machine.deprovisioned',
  'hold.set',
  'hold.removed',
  'hold.expired',
  'request.filed',
  'request.settled',
  'guard.frozen',
  'guard.thawed',
  'provider.breaker_opened',
  'provider.breaker_closed',
  'provider.hold_set',
  'provider.ssh_key_replaced',
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

/** Something that happened, as it is told: thin, so that readers ask for what they want to know. */
export interface FleetEvent {
  /** Its place in the one order of all events: a whole number, as text. Numbers may be left out. */
  readonly number: string;
  readonly type: EventType;
  /** Database clock, epoch ms. */
  readonly atMs: number;
  /** Null, as in the next two: it is about none. */
  readonly provider: ProviderName | null;
  readonly slotId: string | null;
  readonly machineId: MachineId | null;
  /** A component, or a person as in the audit. */
  readonly actor: string;
  readonly reason: string;
  /** State before and after, as people see it; null: none changed, or it is not known. */
  readonly from: string | null;
  readonly to: string | null;
  /** What else events of this type tell. */
  readonly details: EventDetails;
}

/** An event to be written; when, and its number, are the database's. */
export type NewEvent = Pick<FleetEvent, 'type' | 'actor' | 'reason' | 'details'> &
  Partial<Pick<FleetEvent, 'provider' | 'slotId' | 'machineId'>>;

/** The types that these name: one by one, or all of a group (`machine.*`). Absent: every type. */
export function typesNamed(names: readonly string[] | undefined): readonly EventType[] {
  if (names === undefined) return EVENT_TYPES;
  return EVENT_TYPES.filter((type) =>
    names.some((name) => name === type || (isGroup(name) && type.startsWith(name.slice(0, -1)))),
  );
}

/** Whether a name stands for any type at all. */
export const namesTypes = (name: string): boolean => typesNamed([name]).length > 0;

const isGroup = (name: string): boolean => name.endsWith('.*');
