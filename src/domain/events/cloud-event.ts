import type { FleetEvent } from './fleet-event.ts';
import { slot } from '../ids.ts';

/** An event as CloudEvents 1.0 has it in JSON. */
export interface CloudEvent {
  readonly specversion: '1.0';
  /**
   * The same each time it is sent: the event's number and when it happened. A database that was restored
   * gives numbers again, and no time again.
   */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  /** What it is about: a slot, or a provider; absent: the fleet. */
  readonly subject?: string;
  /** RFC 3339. */
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly data: Readonly<Record<string, unknown>>;
}

/** @param source names the fleet, as a URI. */
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
