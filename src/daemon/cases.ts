import { CASES_JOB, openCases } from '../actors/cases.ts';
import { visitForEvidence } from '../actors/tasks/evidence.ts';
import { acceptancePolicies } from '../config.ts';
import { isInForce } from '../domain/eligibility.ts';
import type { SlotFacts } from '../domain/machine.ts';
import type { DaemonParts } from './parts.ts';
import { windowBar } from './planning.ts';

const PERIOD_MS = 15_000;

/** Carries on repair cases while the daemon runs and has the job; never stops the supervisor. */
export function startCases(parts: DaemonParts): void {
  const { bmdb, mirror, loops, closer, config, keeper } = parts;
  const log = parts.log.child({ component: 'cases' });
  const given = { ...parts, cases: bmdb.cases, nowMs: mirror.nowMs, log, ssh: config.ssh };
  const policies = acceptancePolicies(config.providers);
  const barOf = windowBar(parts);
  // An acceptance that reads disks is load. A machine outside its pools serves nobody.
  const waitsForWindow = (facts: SlotFacts) =>
    policies[facts.provider]?.readMBps !== undefined &&
    !facts.holds.some((hold) => hold.kind === 'no-serve' && isInForce(hold, mirror.nowMs())) &&
    barOf(facts.provider, facts) !== null;
  const stopping = new AbortController();
  const opening = openCases(
    {
      ...{ ...given, acceptances: bmdb.acceptances, events: bmdb.events },
      ...{ facts: mirror.facts, isWhole: mirror.isWhole, waitsForWindow },
      scene: () => ({
        ...{ nowMs: mirror.nowMs(), suspicious: mirror.suspicious(), effects: config.conditions },
      }),
      takeEvidence: (machine, signal) =>
        visitForEvidence(given, machine, AbortSignal.any([signal, keeper.require().signal])),
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
