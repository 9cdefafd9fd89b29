import type { InspectionEvent } from 'xstate';
import type { Clock } from '../clock/port.ts';
import { belongsTo, membersOf, type Actor } from './family.ts';
import { messageOf, registrationOf, textOf } from './messages.ts';
import type { Inspection, Subject } from './port.ts';

const VIEWERS_MAX = 8;
const WINDOW_MS = 100;
/** Copying costs time: messages above this rate are dropped, but not an actor's last state. */
const MESSAGES_PER_WINDOW = 200;

/** Shows a daemon's actors to watchers. Without watchers it keeps references and copies nothing. */
export function createInspection({ clock }: { readonly clock: Clock }): Inspection {
  const roots = new Set<Actor>();
  const viewers = new Set<ReturnType<typeof openStream>>();
  return {
    inspect(event) {
      const { actorRef, type } = event;
      if (type === '@xstate.action' || type === '@xstate.microstep') return;
      if (!(actorRef as Actor)._parent) {
        if (type === '@xstate.actor') roots.add(actorRef);
        else if (type === '@xstate.snapshot' && event.snapshot.status !== 'active') {
          roots.delete(actorRef);
        }
      }
      for (const viewer of viewers) viewer.see(event);
    },
    watch(subject, tell) {
      if (viewers.size >= VIEWERS_MAX) return null;
      const viewer = openStream(clock, subject, tell);
      for (const root of roots) viewer.begin(root);
      viewers.add(viewer);
      return () => {
        viewers.delete(viewer);
        viewer.close();
      };
    },
    close() {
      for (const viewer of viewers) viewer.close();
      viewers.clear();
      roots.clear();
    },
  };
}

/** Sends all up to a rate; after a burst, the number of dropped messages and the last states. */
function openStream(clock: Clock, subject: Subject, tell: (text: string) => void) {
  const belongs = belongsTo(subject);
  let [windowEndsAt, told, lost] = [0, 0, 0];
  const late = new Map<Actor, InspectionEvent>();
  let timer: unknown = null;

  const show = (event: InspectionEvent) => {
    const message = messageOf(event, clock.now(), belongs);
    if (message) tell(textOf(message));
  };
  const flush = () => {
    timer = null;
    const left = [...late.values()];
    late.clear();
    left.forEach(show);
    if (lost > 0) tell(JSON.stringify({ type: 'shepherd.dropped', count: lost }));
    lost = 0;
  };
  const isTooMuch = (): boolean => {
    const now = clock.monotonic();
    if (now >= windowEndsAt) [windowEndsAt, told] = [now + WINDOW_MS, 0];
    told += 1;
    return told > MESSAGES_PER_WINDOW;
  };
  return {
    begin(root: Actor) {
      for (const actor of membersOf(root, subject).filter(belongs)) {
        tell(textOf(registrationOf(actor, clock.now())));
      }
    },
    see(event: InspectionEvent) {
      if (!belongs(event.actorRef)) return;
      // An actor must always be announced, because an unknown actor cannot be drawn.
      if (event.type === '@xstate.actor' || !isTooMuch()) {
        // This state is newer than the waiting one.
        if (event.type === '@xstate.snapshot') late.delete(event.actorRef);
        show(event);
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
