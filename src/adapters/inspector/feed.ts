import type { ActorRefLike, InspectionEvent } from 'xstate';
import type { Clock } from '../clock/port.ts';
import { actorStandIn, eventStandIn, snapshotStandIn } from './stand-in.ts';
import type { Shown } from './stand-in.ts';

export interface FeedDeps {
  readonly clock: Clock;
  /** Which actors are shown; asked once per actor. */
  readonly select: (actor: ActorRefLike) => boolean;
  /** Gets everything that is shown, sanitised. */
  readonly emit: (event: InspectionEvent) => void;
  /** So many events came within one flush that these could not be shown. */
  readonly dropped: (count: number) => void;
}

/** What XState reports, thinned out to what a person can follow. Idle while nobody watches. */
export interface Feed {
  readonly inspect: (event: InspectionEvent) => void;
  /** Whether anybody watches. */
  watch(active: boolean): void;
  /** All known actors and their states, for somebody who begins to watch. */
  replay(): readonly InspectionEvent[];
  close(): void;
}

const FLUSH_MS = 100;
const ACTORS_MAX = 1_000;
/** Tasks come and go; the last ones that went are worth a look. */
const FINISHED_MAX = 50;
const EVENTS_PER_FLUSH_MAX = 200;

interface Pending {
  readonly actors: Set<Shown>;
  readonly events: Extract<InspectionEvent, { type: '@xstate.event' }>[];
  readonly snapshots: Set<Shown>;
  dropped: number;
}

const nothing = (): Pending => ({
  actors: new Set(),
  events: [],
  snapshots: new Set(),
  dropped: 0,
});

/**
 * Within a tenth of a second only the latest snapshot of an actor is shown, and of the events the
 * first few hundred. While nobody watches an event costs two look-ups, and nothing is copied.
 */
export function createFeed({ clock, select, emit, dropped }: FeedDeps): Feed {
  const known = new Map<string, Shown>();
  const finished = new Set<string>();
  const isShown = remembered(select);
  let pending = nothing();
  let timer: unknown = null;
  let active = false;

  const flush = () => {
    const { actors, events, snapshots, dropped: count } = pending;
    timer = null;
    pending = nothing();
    for (const shown of actors) emit(actorStandIn(shown));
    for (const event of events) emit(eventStandIn(event, isShown));
    for (const shown of snapshots) emitSome(snapshotStandIn(shown), emit);
    if (count > 0) dropped(count);
  };
  const rest = () => {
    clock.clearTimeout(timer);
    timer = null;
    pending = nothing();
  };

  return {
    inspect(event) {
      if (!isShown(event.actorRef)) return;
      const shown = register(known, event);
      if (event.type === '@xstate.snapshot') {
        shown.latest = { snapshot: event.snapshot, event: event.event };
        if (event.snapshot.status !== 'active') retire(known, finished, shown);
      }
      if (!active || !gather(pending, event, shown)) return;
      timer ??= clock.setTimeout(flush, FLUSH_MS);
    },
    watch(now) {
      active = now;
      if (!active) rest();
    },
    replay: () =>
      [...known.values()].flatMap((shown) => {
        const snapshot = snapshotStandIn(shown);
        return snapshot ? [actorStandIn(shown), snapshot] : [actorStandIn(shown)];
      }),
    close() {
      active = false;
      rest();
      known.clear();
      finished.clear();
    },
  };
}

function emitSome(event: InspectionEvent | null, emit: (event: InspectionEvent) => void): void {
  if (event) emit(event);
}

/** Asks once per actor and keeps the answer as long as the actor lives. */
function remembered(select: (actor: ActorRefLike) => boolean) {
  const answers = new WeakMap<object, boolean>();
  return (actor: ActorRefLike): boolean => {
    const before = answers.get(actor);
    if (before !== undefined) return before;
    const answer = select(actor);
    answers.set(actor, answer);
    return answer;
  };
}

/** False when the event is of a kind nobody is shown (actions, microsteps). */
function gather(pending: Pending, event: InspectionEvent, shown: Shown): boolean {
  if (event.type === '@xstate.actor') pending.actors.add(shown);
  else if (event.type === '@xstate.snapshot') pending.snapshots.add(shown);
  else if (event.type !== '@xstate.event') return false;
  else if (pending.events.length < EVENTS_PER_FLUSH_MAX) pending.events.push(event);
  else pending.dropped += 1;
  return true;
}

function register(known: Map<string, Shown>, { actorRef, rootId }: InspectionEvent): Shown {
  const before = known.get(actorRef.sessionId);
  if (before) return before;
  const [oldest] = known.keys();
  if (known.size >= ACTORS_MAX && oldest !== undefined) known.delete(oldest);
  const shown: Shown = { actor: actorRef, rootId, latest: null };
  known.set(actorRef.sessionId, shown);
  return shown;
}

/** Forgets the actor that finished longest ago, once there are too many. */
function retire(known: Map<string, Shown>, finished: Set<string>, { actor }: Shown): void {
  finished.add(actor.sessionId);
  const [oldest] = finished;
  if (finished.size <= FINISHED_MAX || oldest === undefined) return;
  finished.delete(oldest);
  known.delete(oldest);
}
