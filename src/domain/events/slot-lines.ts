import type { EventDetails, EventType } from './fleet-event.ts';

/** What a line in the log of a slot is to readers of events. */
export interface ToldLine {
  readonly type: EventType;
  readonly reason: string;
  readonly details: EventDetails;
}

/** Which kinds of lines may be events, and of which types. Other kinds are history of the slot only. */
const TYPES_OF: Readonly<Record<string, readonly EventType[]>> = {
  adopted: ['machine.created'],
  agentStarted: ['machine.agent_started'],
  fellSilent: ['machine.silent'],
  heardAgain: ['machine.back'],
  recovered: ['machine.recovered'],
  quarantined: ['machine.needs_human', 'machine.quarantined'],
  released: ['machine.released'],
  installReported: ['machine.handed_over'],
  deprovisioned: ['machine.deprovisioned'],
  held: ['hold.set'],
  unheld: ['hold.removed'],
};

/** Kinds of lines among which the events of these types are. */
export const slotKindsOf = (types: readonly EventType[]): readonly string[] =>
  Object.entries(TYPES_OF)
    .filter(([, told]) => told.some((type) => types.includes(type)))
    .map(([kind]) => kind);

/** As what the line is told; null: it is no event. */
export function toldLine(kind: string, reason: string): ToldLine | null {
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
    default:
      return { type, reason, details: {} };
  }
}

/** Such lines begin with what they are about: `no-recover: being looked at`. */
function parted(reason: string): [string, string] {
  const at = reason.indexOf(': ');
  return at < 0 ? [reason, ''] : [reason.slice(0, at), reason.slice(at + 2)];
}
