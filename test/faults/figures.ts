import type { Note } from './messages.ts';
import type { Evidence } from './evidence.ts';
import type { TcpProxy } from './tcp-proxy.ts';
import type { Workers } from './workers.ts';
import type { FaultWorld } from './world.ts';

/** The daemons' own records. */
export interface Noticed {
  readonly notes: readonly Note[];
}

interface FigureSources {
  readonly proxies: readonly TcpProxy[];
  readonly world: FaultWorld;
  readonly workers: Workers;
}

/** How often everything happened in a run. */
export function figuresOf(
  { proxies, world, workers }: FigureSources,
  evidence: Evidence & Noticed,
) {
  const { notes, history, sessions, acknowledged, permits } = evidence;
  const claims = notes.flatMap((note) => (note.t === 'claim' ? [note.result] : []));
  const results = countOf(claims);
  const lines = countOf(history.map(lineOf));
  const startsMs = workers.runs.flatMap(({ readyAtMs, startedAtMs }) =>
    readyAtMs === null ? [] : [readyAtMs - startedAtMs],
  );
  return {
    fired: sum(proxies.map((proxy) => proxy.fired)),
    /** Without these events the run proves little. */
    must: {
      'agents started': lines['ShepherdAgentStart Finished'] ?? 0,
      'machines recovered': lines['ShepherdRecovery Finished'] ?? 0,
      'leases of dead sessions taken': history.filter(({ cause }) => cause === 'session expired')
        .length,
      'agents refused': world.counts.refusals,
      'agents silenced': world.counts.silenced,
      'heartbeats acknowledged': acknowledged.beats.length,
    },
    world: world.counts,
    effects: world.effects.length,
    claims: results,
    conflictsPerClaim: Number(((results['work-conflict'] ?? 0) / claims.length).toFixed(3)),
    ends: countOf(
      notes.flatMap((note) => (note.t === 'end' ? [`${note.how} ${note.result}`] : [])),
    ),
    history: lines,
    sessions: new Set(sessions.map((each) => each.sessionId)).size,
    runs: workers.runs.length,
    permits: permits.filter((each) => each.granted).length,
    crashes: notes.flatMap((note) => (note.t === 'crash' ? [note.what] : [])),
    startMs: { mean: Math.round(mean(startsMs)), max: Math.max(...startsMs) },
  };
}

const lineOf = ({ process, event, cause }: Evidence['history'][number]): string =>
  event === 'Canceled'
    ? `${process} ${event} ${cause?.replace(/^.*was not asked/, 'not asked')}`
    : `${process} ${event}`;

const mean = (all: readonly number[]) => all.reduce((a, b) => a + b, 0) / all.length;

function countOf(all: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of all) counts[each] = (counts[each] ?? 0) + 1;
  return counts;
}

export function sum(all: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const counts of all) {
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
  }
  return total;
}
