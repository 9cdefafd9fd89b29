import type { GuardAssessment } from '../../adapters/bmdb/port.ts';
import type { Clock } from '../../adapters/clock/port.ts';
import type { Log } from '../../adapters/log/port.ts';
import type { Metrics } from '../../adapters/metrics/port.ts';
import { FLEET, type GuardPolicy } from '../../domain/recovery/guard-judgement.ts';
import {
  BLIND,
  GUARD_STATES,
  gravest,
  recoveryBar,
  guardStatuses,
  type GuardPicture,
  type GuardStatus,
  type GuardState,
} from '../../domain/recovery/guard-status.ts';
import { sameData } from '../../lib/data.ts';

export interface GuardWatchDeps {
  readonly policy: GuardPolicy;
  /** Silence counts only after heartbeats were received for this long. */
  readonly heartbeatMs: number;
  /** Database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Called at once when the displayed state changes. */
  readonly onChange: () => void;
}

/** The guard's state as of its last assessment. */
export interface GuardView extends GuardPicture {
  readonly state: GuardState;
  readonly reason: string | null;
  /** The fleet first, then providers. */
  readonly standings: readonly GuardStatus[];
  /** Time for which recovery of the fleet or a provider was seen frozen since start. */
  readonly frozenSeconds: number;
}

/** This daemon's knowledge of the guard: for permits, the page, metrics and the log. */
export interface GuardWatch {
  view(): GuardView;
  /** Judges the assessment; changes nothing. */
  judge(found: GuardAssessment): readonly GuardStatus[];
  /** To be called after an assessment of the fleet. */
  take(picture: GuardPicture, standings: readonly GuardStatus[]): void;
  /** Forgets the guard's state, because its chart crashed or stopped. */
  lose(): void;
  /** Why no machine of the provider may be recovered, as far as is known; null: no objection. */
  barOf(provider: string, isOrder: boolean): string | null;
}

interface KnownGuard extends GuardPicture {
  readonly standings: readonly GuardStatus[];
  readonly atMs: number;
}

export function createGuardWatch(deps: GuardWatchDeps): GuardWatch {
  const { policy, heartbeatMs, nowMs, clock, metrics, log, onChange } = deps;
  let known: KnownGuard = { rows: [], counts: [], standings: [BLIND], atMs: clock.monotonic() };
  let frozenMs = 0;

  const sinceLastMs = () => clock.monotonic() - known.atMs;
  const isFrozen = () => known.rows.some(({ frozen }) => frozen !== null);
  const show = (after: Omit<KnownGuard, 'atMs'>) => {
    const before = known;
    for (const { scope, frozen } of before.rows) {
      if (!frozen) continue;
      const seconds = Math.max(0, sinceLastMs() / 1_000);
      metrics.count('shepherd_guard_frozen_seconds_total', { scope: labelOf(scope) }, seconds);
    }
    if (isFrozen()) frozenMs += sinceLastMs();
    known = { ...after, atMs: clock.monotonic() };
    tellMetrics(metrics, known);
    reportGuard(log, before, known);
    if (!sameData(before.standings, known.standings)) onChange();
  };

  return {
    view: () => {
      const { state, reason } = gravest(known.standings);
      const { rows, counts, standings } = known;
      const frozenSeconds = (frozenMs + (isFrozen() ? sinceLastMs() : 0)) / 1_000;
      return { rows, counts, standings, state, reason, frozenSeconds };
    },
    judge: (found) => {
      const moment = { nowMs: nowMs(), policy, heartbeatMs };
      return guardStatuses(found, moment).map((each) => withSince(each, known.standings, nowMs()));
    },
    take: ({ rows, counts }, standings) => show({ rows, counts, standings }),
    lose: () => show({ rows: known.rows, counts: known.counts, standings: [BLIND] }),
    barOf: (provider, isOrder) => recoveryBar(known.standings, provider, isOrder),
  };
}

/** Replaces the gauges of the guard. */
function tellMetrics(metrics: Metrics, { standings, counts }: Omit<KnownGuard, 'atMs'>): void {
  for (const gauge of GAUGES) metrics.clear(gauge);
  for (const each of standings) {
    const scope = labelOf(each.scope);
    for (const state of GUARD_STATES) {
      metrics.set('shepherd_guard_state', { scope, state }, state === each.state ? 1 : 0);
    }
    metrics.set('shepherd_guard_frozen', { scope }, each.state === 'frozen' ? 1 : 0);
    metrics.count('shepherd_guard_frozen_seconds_total', { scope }, 0);
  }
  for (const each of counts) {
    const scope = labelOf(each.scope);
    metrics.set('shepherd_guard_silent_machines', { scope }, each.silent);
    metrics.set('shepherd_guard_started_machines', { scope }, each.started);
  }
}
const GAUGES = [
  'shepherd_guard_state',
  'shepherd_guard_frozen',
  'shepherd_guard_silent_machines',
  'shepherd_guard_started_machines',
] as const;
/** The scope's name as the budget writes it, which also has locations. */
const labelOf = (scope: string): string => (scope === FLEET ? scope : `provider ${scope}`);

/** If no row gives a state's start, it began when this daemon first saw it. */
function withSince(
  standing: GuardStatus,
  before: readonly GuardStatus[],
  nowMs: number,
): GuardStatus {
  if (standing.sinceMs !== null || standing.state === 'watching') return standing;
  const known = before.find(({ scope }) => scope === standing.scope);
  const isSame = known?.state === standing.state;
  return { ...standing, sinceMs: isSame ? known.sinceMs : nowMs };
}

interface KnownGuard extends GuardPicture {
  readonly standings: readonly GuardStatus[];
}

/**
 * Logs the changes between two assessments. A freeze that nobody requested may need somebody at
 * night: `error`, with the numbers and what to do.
 */
function reportGuard(log: Log, before: KnownGuard, after: KnownGuard): void {
  reportFreezes(log, before, after);
  const known = new Map(before.standings.map((each) => [each.scope, each]));
  for (const { scope, state, reason } of after.standings) {
    const was = known.get(scope)?.state ?? 'watching';
    if (was === state) continue;
    if (state === 'suspicious') log.warn({ scope, reason }, SUSPICIOUS);
    if (state === 'grace') log.info({ scope, reason }, GRACE);
    if (state === 'watching' && was !== 'frozen') log.info({ scope, was }, WATCHING);
  }
}

function reportFreezes(log: Log, before: KnownGuard, after: KnownGuard): void {
  const frozenBefore = new Set(before.rows.filter(isFrozen).map(({ scope }) => scope));
  for (const row of after.rows) {
    const { scope, frozen } = row;
    if (!frozen) {
      if (frozenBefore.has(scope)) log.info({ scope }, THAWED);
      continue;
    }
    if (frozenBefore.has(scope)) continue;
    const { kind, by, reason } = frozen;
    const counts = after.counts.find((each) => each.scope === scope) ?? {};
    const fields = { ...counts, scope, kind, by, reason };
    if (kind === 'manual') log.warn(fields, FROZEN_BY_HAND);
    else log.error(fields, FROZEN);
  }
}

const isFrozen = ({ frozen }: GuardPicture['rows'][number]): boolean => frozen !== null;

const FROZEN =
  'recovery is frozen: too many machines fell silent or out of reach together, so look at the ' +
  'network, the agent server and the provider first; no machine is recovered before they are back, or ' +
  'before an operator accepts their loss: `shepherd fleet thaw`';
const FROZEN_BY_HAND = 'recovery is frozen by an operator, until an operator thaws it';
const THAWED = 'recovery is thawed: machines that are still silent are assessed again';
const SUSPICIOUS = 'too many machines are late or silent at once: recovery is paused';
const GRACE = 'machines are not recovered until heartbeats have been received for long enough';
const WATCHING = 'the guard has no objection to recovery';
