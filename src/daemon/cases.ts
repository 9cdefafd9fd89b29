import { CASES_JOB, openCases } from '../actors/cases.ts';
import { visitForEvidence } from '../actors/tasks/evidence.ts';
import type { DaemonParts } from './parts.ts';

const PERIOD_MS = 60_000;

/** Opens cases while the daemon runs and has the job; never stops the supervisor. */
export function startCases(parts: DaemonParts): void {
  const { bmdb, mirror, loops, closer, config } = parts;
  const log = parts.log.child({ component: 'cases' });
  const given = { ...parts, cases: bmdb.cases, nowMs: mirror.nowMs, log, ssh: config.ssh };
  const stopping = new AbortController();
  const opening = openCases(
    {
      ...{ ...given, events: bmdb.events, facts: mirror.facts },
      takeEvidence: (...machine) => visitForEvidence(given, ...machine),
      loop: loops.of('cases', PERIOD_MS, CASES_JOB),
      periodMs: PERIOD_MS,
    },
    stopping.signal,
  );
  closer.add('cases', () => {
    stopping.abort();
    return opening;
  });
}
