import type { InspectionEvent } from 'xstate';
import { belongsTo, chartOf, machineOf, type Actor } from './family.ts';
import { messageOf } from './messages.ts';
import type { Subject } from './port.ts';
import { createRing, type Ring, type RingLimits } from './ring.ts';
import { actorStandIn, snapshotStandIn } from './stand-in.ts';
import { standInOf } from './trace.ts';

/** References to what XState made anyway; nothing is copied until an actor crashes. */
const REMEMBERED = 4_000;

interface Remembered {
  readonly event: InspectionEvent;
  readonly atMs: number;
}

/** The last events of all actors. */
export interface LastEvents {
  see(event: InspectionEvent, atMs: number): void;
  /** What is remembered of a machine, or of the supervisor, up to the end of the actor that crashed. */
  recordingOf(crashed: Actor, limits: RingLimits): { subject: Subject; ring: Ring };
}

export function createLastEvents(): LastEvents {
  const remembered: (Remembered | undefined)[] = Array.from({ length: REMEMBERED });
  let next = 0;
  return {
    see(event, atMs) {
      remembered[next] = { event, atMs };
      next = (next + 1) % REMEMBERED;
    },
    recordingOf(crashed, limits) {
      const subject = machineOf(crashed);
      const belongs = belongsTo(subject);
      const inOrder = [...remembered.slice(next), ...remembered.slice(0, next)];
      const own = inOrder.filter((each) => each !== undefined && belongs(each.event.actorRef));
      const ring = createRing(limits);
      write(own as Remembered[], belongs, ring);
      const { event, atMs } = own.at(-1)!;
      const { rootId } = event;
      const latest = { snapshot: crashed.getSnapshot(), event: { type: 'crashed' } };
      const end = snapshotStandIn({ actor: crashed, rootId, latest });
      if (end) ring.add(messageOf(end, atMs));
      return { subject, ring };
    },
  };
}

/** Actors that were there before are registered with the first state that is known of them. */
function write(own: readonly Remembered[], belongs: (actor: Actor) => boolean, ring: Ring): void {
  const registered = new Set<Actor>();
  for (const { event, atMs } of own) {
    const { actorRef: actor, rootId } = event;
    if (!registered.has(actor) && event.type !== '@xstate.actor') {
      const snapshot = firstSnapshotOf(actor, own);
      const latest = { snapshot, event: { type: '' } };
      ring.add(messageOf(actorStandIn({ actor, rootId, latest }), atMs));
    }
    registered.add(actor);
    const standIn = standInOf(event, belongs);
    if (standIn) ring.add(messageOf(standIn, atMs));
  }
}

function firstSnapshotOf(actor: Actor, own: readonly Remembered[]): unknown {
  const found = own.find(
    ({ event }) => event.type === '@xstate.snapshot' && event.actorRef === actor,
  );
  return found?.event.type === '@xstate.snapshot' ? found.event.snapshot : {};
}

/** The actor with a chart whose crash its parent is told of; null: nothing crashed. Calls may fail, which is no crash. */
export function crashedIn(event: InspectionEvent): Actor | null {
  if (event.type !== '@xstate.event' || !event.event.type.startsWith('xstate.error.actor.')) {
    return null;
  }
  const source: Actor | undefined = event.sourceRef;
  return source && chartOf(source) !== null ? source : null;
}
