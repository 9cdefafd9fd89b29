import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { InspectionEvent } from 'xstate';
import type { Clock } from '../clock/port.ts';
import type { Actor } from './family.ts';
import { messageOf } from './messages.ts';
import { actorStandIn, eventStandIn, snapshotStandIn, type StandIn } from './stand-in.ts';

export interface TraceOptions {
  readonly clock: Clock;
  readonly belongs: (actor: Actor) => boolean;
  /** Gets everything of these actors, sanitised, in its order. */
  readonly emit: (message: StatelyInspectionEvent) => void;
  readonly dropped: (count: number) => void;
}

/** What happens to some actors, one message after the other. */
export interface Trace {
  /** Tells that these are there, and their states. */
  begin(actors: readonly Actor[]): void;
  see(event: InspectionEvent): void;
  close(): void;
}

const WINDOW_MS = 100;
/** Copying costs time of the daemon: what comes beyond is dropped, but for the last state of each actor. */
const MESSAGES_PER_WINDOW = 200;

/** Tells everything up to a rate; of a burst how much was left out, and where its actors ended. */
export function createTrace({ clock, belongs, emit, dropped }: TraceOptions): Trace {
  let [windowEndsAt, told, lost] = [0, 0, 0];
  const late = new Map<Actor, InspectionEvent>();
  let timer: unknown = null;

  const tell = (standIn: StandIn | null) => {
    if (standIn) emit(messageOf(standIn, clock.now()));
  };
  const flush = () => {
    timer = null;
    const left = [...late.values()];
    late.clear();
    left.forEach((event) => tell(standInOf(event, belongs)));
    if (lost > 0) dropped(lost);
    lost = 0;
  };
  const isTooMuch = (): boolean => {
    const now = clock.monotonic();
    if (now >= windowEndsAt) [windowEndsAt, told] = [now + WINDOW_MS, 0];
    told += 1;
    return told > MESSAGES_PER_WINDOW;
  };
  return {
    begin(actors) {
      for (const actor of actors) {
        tell(actorStandIn({ actor, rootId: rootOf(actor).sessionId, latest: null }));
      }
    },
    see(event) {
      if (!isShownKind(event) || !belongs(event.actorRef)) return;
      // An actor that nobody was told of could not be drawn.
      if (event.type === '@xstate.actor' || !isTooMuch()) {
        // What is told now is newer than what waits.
        if (event.type === '@xstate.snapshot') late.delete(event.actorRef);
        tell(standInOf(event, belongs));
        return;
      }
      if (event.type === '@xstate.snapshot') late.set(event.actorRef, event);
      else lost += 1;
      timer ??= clock.setTimeout(flush, WINDOW_MS);
    },
    close() {
      clock.clearTimeout(timer);
      late.clear();
    },
  };
}

/** Actions and microsteps are of no use to whoever looks at charts. */
const isShownKind = ({ type }: InspectionEvent): boolean =>
  type === '@xstate.actor' || type === '@xstate.snapshot' || type === '@xstate.event';

/** Null: of a kind that is not shown. */
export function standInOf(
  event: InspectionEvent,
  belongs: (actor: Actor) => boolean,
): StandIn | null {
  const { actorRef: actor, rootId } = event;
  if (event.type === '@xstate.event') return eventStandIn(event, belongs);
  // It is being made: it has no state yet, and must not be asked.
  if (event.type === '@xstate.actor') return actorStandIn({ actor, rootId, latest: UNBORN });
  if (event.type !== '@xstate.snapshot') return null;
  const { snapshot, event: cause } = event;
  return snapshotStandIn({ actor, rootId, latest: { snapshot, event: cause } });
}

const UNBORN = { snapshot: {}, event: { type: '' } };

export function rootOf(actor: Actor): Actor {
  let at = actor;
  while (at._parent) at = at._parent;
  return at;
}
