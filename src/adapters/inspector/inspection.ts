import type { StatelyInspectionEvent } from '@statelyai/inspect';
import type { InspectionEvent } from 'xstate';
import type { Clock } from '../clock/port.ts';
import { createLastEvents, crashedIn } from './crashes.ts';
import { belongsTo, chartOf, withDescendants, type Actor } from './family.ts';
import { textOf, withoutChart } from './messages.ts';
import type { Inspection, RecordingInfo, Subject } from './port.ts';
import { createRing, type Ring } from './ring.ts';
import { createTrace, type Trace } from './trace.ts';

const VIEWERS_MAX = 8;
const CHOSEN_MAX = 8;
const CHOSEN = { ageMaxMs: 5 * 60_000, sizeMax: 4 * 1024 * 1024 } as const;
/** Of as many machines the last crash each. */
const CRASHED_MAX = 16;
const CRASHED = { ageMaxMs: 5 * 60_000, sizeMax: 512 * 1024 } as const;
/** One machine that crashes says more than a thousand that crash with it. */
const CRASHES_PER_MINUTE = 16;

interface Recording {
  readonly why: RecordingInfo['why'];
  readonly subject: Subject;
  readonly beganAtMs: number;
  readonly ring: Ring;
  readonly trace: Trace | null;
}

/**
 * Looks at the actors of a daemon for those who watch, keeps recordings of chosen machines, and one
 * of each actor that crashed. While nobody watches it keeps references, and copies nothing.
 */
export function createInspection({ clock }: { readonly clock: Clock }): Inspection {
  const roots = new Map<string, Actor>();
  const traces = new Set<Trace>();
  const recordings = new Map<string, Recording>();
  const last = createLastEvents();
  const viewers = new Set<Trace>();
  const recentCrashes: number[] = [];
  let made = 0;

  const follow = (
    subject: Subject,
    emit: (message: StatelyInspectionEvent) => void,
    dropped: (count: number) => void,
  ): Trace => {
    const belongs = belongsTo(subject);
    const trace = createTrace({ clock, belongs, emit, dropped });
    const there = [...roots.values()].flatMap((root) => membersOf(root, subject));
    trace.begin(there.filter(belongs));
    traces.add(trace);
    return trace;
  };
  const unfollow = (trace: Trace) => {
    traces.delete(trace);
    trace.close();
  };
  const keep = (recording: Recording): string => {
    made += 1;
    const id = `${recording.why}-${made}`;
    recordings.set(id, recording);
    return id;
  };
  const remove = (id: string): boolean => {
    const trace = recordings.get(id)?.trace;
    if (trace) unfollow(trace);
    return recordings.delete(id);
  };
  const idsOf = (why: Recording['why']): string[] =>
    [...recordings].filter(([, each]) => each.why === why).map(([id]) => id);
  const keepCrash = (crashed: Actor) => {
    const now = clock.now();
    while (recentCrashes.length > 0 && recentCrashes[0]! <= now - 60_000) recentCrashes.shift();
    if (recentCrashes.length >= CRASHES_PER_MINUTE) return;
    recentCrashes.push(now);
    const { subject, ring } = last.recordingOf(crashed, CRASHED);
    const crashes = idsOf('crashed');
    const earlier = crashes.find((id) => recordings.get(id)!.subject === subject);
    const outdated = earlier ?? (crashes.length >= CRASHED_MAX ? crashes[0] : undefined);
    if (outdated !== undefined) remove(outdated);
    keep({ why: 'crashed', subject, beganAtMs: now, ring, trace: null });
  };

  return {
    inspect(event) {
      const actor: Actor = event.actorRef;
      if (event.type === '@xstate.action' || event.type === '@xstate.microstep') return;
      if (!actor._parent) noteRoot(roots, event);
      last.see(event, clock.now());
      for (const trace of traces) trace.see(event);
      const crashed = crashedIn(event);
      if (crashed) keepCrash(crashed);
    },
    watch(subject, { message, dropped, wantsCharts = false }) {
      if (viewers.size >= VIEWERS_MAX) return null;
      const shown = wantsCharts
        ? textOf
        : (each: StatelyInspectionEvent) => textOf(withoutChart(each));
      const trace = follow(subject, (each) => message(shown(each)), dropped);
      viewers.add(trace);
      return () => {
        viewers.delete(trace);
        unfollow(trace);
      };
    },
    recordings: () => [...recordings].map(infoOf),
    record(slot) {
      const known = [...recordings].find(([, each]) => each.trace && each.subject === slot);
      if (known) return infoOf(known);
      if (idsOf('chosen').length >= CHOSEN_MAX) return null;
      const ring = createRing(CHOSEN);
      const trace = follow(slot, ring.add, () => undefined);
      const recording = {
        why: 'chosen',
        subject: slot,
        beganAtMs: clock.now(),
        ring,
        trace,
      } as const;
      return infoOf([keep(recording), recording]);
    },
    remove,
    read: (id) => recordings.get(id)?.ring.text() ?? null,
    close() {
      for (const trace of traces) trace.close();
      traces.clear();
      recordings.clear();
      roots.clear();
    },
  };
}

/** Whoever is there when somebody begins to look. */
function membersOf(root: Actor, subject: Subject): Actor[] {
  if (subject === null || chartOf(root) !== 'cell') return withDescendants(root);
  const { children } = root.getSnapshot() as unknown as { children: Record<string, Actor> };
  const machine = children[subject];
  return machine ? withDescendants(machine) : [];
}

function noteRoot(roots: Map<string, Actor>, event: InspectionEvent): void {
  const { actorRef: root } = event;
  if (event.type === '@xstate.actor') roots.set(root.sessionId, root);
  else if (event.type === '@xstate.snapshot' && event.snapshot.status !== 'active') {
    roots.delete(root.sessionId);
  }
}

const infoOf = ([id, { why, subject, beganAtMs, ring }]: readonly [
  string,
  Recording,
]): RecordingInfo => ({
  ...{ id, why, subject, beganAtMs },
  ...{ messages: ring.messages, bytes: ring.size },
});
