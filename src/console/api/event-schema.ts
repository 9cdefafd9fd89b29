import { z } from 'zod';
import type { EventType, FleetEvent } from '../../domain/events/fleet-event.ts';
import { slot } from '../../domain/ids.ts';
import { Milliseconds, named, text } from './schemas.ts';

const nothing = {};
const CONDITION = {
  condition: text.describe('Its type, such as `disk-failing`.'),
  source: text.describe('Who reported it.'),
  status: text.describe('`True`, `False` or `Unknown`.'),
};
const ofCase = {
  case: text.describe('Number of the case.'),
  title: text,
  ticket: text.nullable().describe('Address of a ticket in another system.'),
};

const roll = { roll: text.describe('Id of the rolling action.'), action: text };
/** Details of each event type beside the common fields. More may be added. */
const DETAILS: Readonly<Record<EventType, Readonly<Record<string, z.ZodType>>>> = {
  'machine.created': nothing,
  'machine.agent_started': nothing,
  'machine.silent': nothing,
  'machine.back': nothing,
  'machine.recovering': nothing,
  'machine.recovered': nothing,
  'machine.needs_human': nothing,
  'machine.quarantined': {
    kind: text.describe('Kind of the quarantine, such as `conflict` or `byOperator`.'),
  },
  'machine.released': nothing,
  'machine.retired': nothing,
  'machine.unretired': nothing,
  'machine.accepted': nothing,
  'machine.acceptance_failed': nothing,
  'machine.handed_over': { generation: text.describe('Generation of the installation.') },
  'machine.deprovisioned': nothing,
  'hold.set': { kind: text.describe('Kind of the hold, such as `no-recover`.') },
  'hold.removed': { kind: text },
  'hold.expired': { kind: text },
  'condition.set': CONDITION,
  'condition.cleared': CONDITION,
  'condition.unknown': CONDITION,
  'case.opened': ofCase,
  'case.noted': ofCase,
  'case.linked': ofCase,
  'case.closed': ofCase,
  'request.filed': { key: text, verb: text, batch: text.nullable() },
  'request.settled': { key: text, verb: text, state: text.describe('`done` or `refused`.') },
  'guard.frozen': {
    scope: text.describe('`fleet`, or the name of a provider.'),
    kind: text,
    untilMs: z
      .number()
      .optional()
      .describe('When the freeze ends by itself. Absent: an operator must end it.'),
  },
  'guard.thawed': { scope: text },
  'provider.breaker_opened': nothing,
  'provider.breaker_closed': nothing,
  'provider.hold_set': { kind: text, key: text, level: z.number(), untilMs: z.number() },
  'provider.ssh_key_replaced': {
    name: text.describe('Name of the key at the provider.'),
    from: text.describe("Fingerprint of Shepherd's earlier key."),
    to: text.describe('Fingerprint of the current key.'),
  },
  'roll.started': { ...roll, machines: z.number().int() },
  'roll.stopped': roll,
  'roll.done': roll,
  'roll.aborted': roll,
  'session.expired': { sessionId: text, runtimeInfo: text },
  'access.login': { sessionId: text, role: text },
  'access.refused': {
    address: text.describe('Network address of the caller.'),
    untold: z
      .number()
      .int()
      .optional()
      .describe('Number of earlier refusals for which no event was written.'),
  },
  'access.token_created': { tokenId: text, name: text, role: text },
  'access.revoked': { tokenId: text, name: text, role: text },
  'log.level_set': {
    level: text,
    component: text.nullable().describe('Null: all components.'),
    forMs: z.number(),
    host: text.describe('Host of the daemon.'),
  },
  'webhook.test': { webhook: text },
  'webhook.disabled': { webhook: text },
};

const common = {
  number: text.describe('Sequence number. Give it as `after` to read the later events.'),
  atMs: Milliseconds,
  slot: text
    .nullable()
    .describe('Null: the event concerns no slot. The same holds for the next two fields.'),
  provider: text.nullable(),
  machineId: text.nullable(),
  actor: text.describe('A component, or a user as in the audit.'),
  reason: text,
  from: text.nullable().describe('Previous state. Null: unchanged or unknown.'),
  to: text.nullable(),
};

const schemaOf = (type: EventType) =>
  z.object({ ...common, type: z.literal(type), details: z.looseObject(DETAILS[type]) });
type OneSchema = ReturnType<typeof schemaOf>;
const [first, ...others] = (Object.keys(DETAILS) as EventType[]).map(schemaOf);

/** An event of any type. */
export const EventSchema = named(
  'Event',
  z.discriminatedUnion('type', [first as OneSchema, ...others]),
);
export type PublishedEvent = z.output<typeof EventSchema>;

/** The event in the form of the API. */
export function publishedEvent({ slotId, atMs, provider, ...event }: FleetEvent): PublishedEvent {
  const place = provider !== null && slotId !== null ? slot(provider, slotId) : null;
  return { ...event, atMs: Math.round(atMs), slot: place, provider };
}
