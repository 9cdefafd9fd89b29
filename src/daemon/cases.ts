import { CASES_JOB, openCases } from '../actors/cases.ts';
import type { DaemonParts } from './parts.ts';

const PERIOD_MS = 60_000;

/** Opens cases while the daemon runs and has the job; never stops the supervisor. */
export function startCases(parts: DaemonParts): void {
  const { bmdb, mirror, loops, log, closer } = parts;
  const stopping = new AbortController();
  const opening = openCases(
    {
      ...{ ...parts, cases: bmdb.cases, events: bmdb.events, facts: mirror.facts },
      nowMs: mirror.nowMs,
      loop: loops.of('cases', PERIOD_MS, CASES_JOB),
      log: log.child({ component: 'cases' }),
      periodMs: PERIOD_MS,
    },
    stopping.signal,
  );
  closer.add('cases', () => {
    stopping.abort();
    return opening;
  });
}
