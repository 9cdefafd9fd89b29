import { orderFor } from '../eligibility.ts';
import { BEYOND_REACH_MS, DEFAULT_ESCALATION } from '../policy.ts';
import {
  RUNGS,
  RUNG_FACTS,
  STANDING_RUNGS,
  type LadderMeans,
  type Rung,
  type RungPolicy,
  type StandingRung,
} from './rungs.ts';
import type { BootTimes, LadderRow, MachineRow, Process } from '../machine.ts';
import type { OrderVerb } from '../verbs.ts';
import { visibleText } from '../../lib/texts.ts';

export type LadderPolicy = Readonly<Record<Rung, RungPolicy>>;

const ladder = (attemptsAt: (rung: Rung) => number): LadderPolicy =>
  Object.fromEntries(
    RUNGS.map((rung) => [
      rung,
      { attempts: attemptsAt(rung), patienceMs: RUNG_FACTS[rung].patienceMs },
    ]),
  ) as LadderPolicy;

/** Where recovery may erase disks. */
export const ERASING_LADDER = ladder((rung) => RUNG_FACTS[rung].attempts);
/** Erases no disks: reinstalling is switched on for each provider by name. */
export const DEFAULT_LADDER = ladder((rung) =>
  RUNG_FACTS[rung].erases ? 0 : RUNG_FACTS[rung].attempts,
);

/** What the next step depends on besides the machine's rows. */
export interface LadderCircumstances {
  readonly means: LadderMeans;
  readonly policy: LadderPolicy;
  /** A hold `preserve` is on the machine: what is on it must not be lost. */
  readonly preserved: boolean;
  /** Database clock. */
  readonly nowMs: number;
  /** What was asked for less than this ago is not asked for again. */
  readonly askAgainMs: number;
  /** The machine's controller, if it hangs and may be restarted. Absent, or null: no such thing. */
  readonly hungController?: string | null;
}

/** Those that carry out steps of the ladder. */
export type LadderProcess = Extract<Process, 'ShepherdRecovery' | 'ShepherdReinstall'>;

/** What is to be done to the machine next. */
export interface LadderStep {
  readonly rung: Rung;
  readonly process: LadderProcess;
  /** Which attempt on this rung it is, from 1. */
  readonly attempt: number;
  /** How a reboot is asked for. */
  readonly mode: 'graceful' | 'force';
  /** It was asked for already and may still come true: it is only waited for. */
  readonly resumed: boolean;
  /** Key of the operator's order that it is; null: the ladder's own. */
  readonly order: string | null;
}
/** Nothing is left to try. */
export interface LadderEnd {
  readonly end: string;
  /** Starting its agent may still help: it is tried again. Absent: a person is needed. */
  readonly startAgain?: true;
}

export const RUNG_OF: Readonly<Record<OrderVerb, StandingRung>> = {
  'restart-agent': 'restartingAgent',
  reboot: 'rebooting',
  reinstall: 'reinstalling',
};

export const processOf = (rung: Rung): LadderProcess =>
  rung === 'reinstalling' ? 'ShepherdReinstall' : 'ShepherdRecovery';

/**
 * What comes next for a machine that is lost, whose agent start was given up, or of which an operator
 * asked something. Never goes back to a milder rung within an episode, and tries each so often and
 * no more, so that every episode ends: with a machine that stays up, or with a person. Only what
 * never reaches the machine is tried for ever.
 */
export function nextStep(row: MachineRow, now: LadderCircumstances): LadderStep | LadderEnd {
  const order = ORDERED.map((process) => orderFor(process, row, now.nowMs)).find(Boolean);
  if (order) {
    const rung = RUNG_OF[order.verb];
    const resumed = isResumed(row, rung, order.key, now);
    const mode = order.force ? 'force' : 'graceful';
    return { rung, process: processOf(rung), attempt: 1, mode, resumed, order: order.key };
  }
  const { recovery } = row;
  const resumed = recovery?.askedRung ?? null;
  if (recovery && resumed !== null && isResumed(row, resumed, null, now)) {
    return ownStep(resumed, Math.max(1, recovery.attempts), { recovery, resumed: true });
  }
  const begun = recovery?.rung ?? firstRung(row);
  const from = row.agentStarted ? begun : notBelow(begun);
  const goesOn = STANDING_RUNGS.slice(STANDING_RUNGS.indexOf(from));
  for (const rung of goesOn) {
    const tried = recovery?.rung === rung ? recovery.attempts : 0;
    if (tried >= now.policy[rung].attempts || impossibility(rung, now) !== null) continue;
    if (resetsFirst(rung, now)) return ownStep('resettingBmc', 1, { recovery, resumed: false });
    return ownStep(rung, tried + 1, { recovery, resumed: false });
  }
  return startAgain(row) ?? { end: endOf(recovery, now) };
}

/**
 * Nothing that its controller is to do can be asked of one that hangs: it is restarted first, wherever
 * the ladder stands.
 */
const resetsFirst = (rung: StandingRung, now: LadderCircumstances): boolean =>
  RUNG_FACTS[rung].means !== null &&
  (now.hungController ?? null) !== null &&
  impossibility('resettingBmc', now) === null;

/**
 * What never reached the machine is no attempt on it: where nothing stronger can be tried, nor was
 * in this episode, its agent is started again, until so many starts failed that did reach it. Null:
 * that is over, and a person is needed.
 */
function startAgain({ agentStarted, startAttempt, recovery }: MachineRow): LadderEnd | null {
  if (agentStarted || !startAttempt) return null;
  if (recovery && recovery.rung !== 'restartingAgent') return null;
  const { count, unreached } = startAttempt;
  if (count - unreached >= DEFAULT_ESCALATION.failuresMax) return null;
  const what =
    unreached > 0
      ? `${unreached} of ${count} agent starts never reached it`
      : 'how its last agent start ended was never recorded';
  return { end: `${what}, and nothing else can be tried`, startAgain: true };
}

const ORDERED: readonly LadderProcess[] = ['ShepherdRecovery', 'ShepherdReinstall'];

const ownStep = (
  rung: Rung,
  attempt: number,
  { recovery, resumed }: { recovery: LadderRow | null; resumed: boolean },
): LadderStep => ({
  rung,
  process: processOf(rung),
  attempt,
  mode: isUnproved(recovery, rung) ? 'force' : 'graceful',
  resumed,
  order: null,
});

/** What comes next where the agent cannot be restarted, since SSH does not answer. */
export const stepBeyondAgent = (
  row: MachineRow,
  { policy, ...now }: LadderCircumstances,
): LadderStep | LadderEnd => {
  const restartingAgent = { ...policy.restartingAgent, attempts: 0 };
  return nextStep({ ...row, order: null }, { ...now, policy: { ...policy, restartingAgent } });
};

/** What a hanging controller was in the way of, where it was restarted, or may not be now. */
export const stepBeyondController = (
  row: MachineRow,
  now: LadderCircumstances,
): LadderStep | LadderEnd => stepBeyondAgent(row, { ...now, hungController: null });

/** A machine that never got an agent has none to restart. */
const firstRung = ({ agentStarted }: MachineRow): StandingRung =>
  agentStarted ? 'restartingAgent' : 'rebooting';
const notBelow = (rung: StandingRung): StandingRung =>
  rung === 'restartingAgent' ? 'rebooting' : rung;

/** A reboot that was asked for and neither refused nor proved was perhaps ignored. */
const isUnproved = (recovery: LadderRow | null, rung: Rung): boolean =>
  rung === 'rebooting' && recovery?.askedRung === 'rebooting';

/** Why a rung is never tried, whatever was tried before; null: it may be. */
/** Why the rung cannot be taken; null: it can. */
export function impossibility(rung: Rung, now: LadderCircumstances): string | null {
  const { means, policy, preserved } = now;
  const { means: needed, erases } = RUNG_FACTS[rung];
  if (needed !== null && !means[needed]) return 'its provider cannot';
  if (policy[rung].attempts === 0) {
    return erases ? 'recovery may not erase its disks' : 'the configuration leaves it out';
  }
  return erases && preserved ? 'a hold preserves what is on it' : null;
}

/**
 * Whoever asked for it last is gone without having ended it (else the ladder would cool down from
 * then on), and its time is not over. An order is one attempt: it is never asked for again.
 */
function isResumed(
  { recovery }: MachineRow,
  rung: Rung,
  order: string | null,
  { policy, preserved, nowMs, askAgainMs }: LadderCircumstances,
): boolean {
  const askedAtMs = recovery?.askedAtMs ?? null;
  if (!recovery || askedAtMs === null || rung === 'restartingAgent') return false;
  const { askedRung, orderKey, nextAtMs } = recovery;
  if (askedRung !== rung || orderKey !== order) return false;
  if (order !== null) return true;
  if (RUNG_FACTS[rung].erases && preserved) return false;
  const hasEnded = nextAtMs !== null && nextAtMs > askedAtMs;
  return !hasEnded && nowMs < askedAtMs + Math.max(askAgainMs, policy[rung].patienceMs);
}

/** What was tried last, and why nothing beyond it is. Whether the rungs below were is not known. */
function endOf(recovery: LadderRow | null, now: LadderCircumstances): string {
  const beyond = STANDING_RUNGS.slice(recovery ? STANDING_RUNGS.indexOf(recovery.rung) + 1 : 0);
  const whyNot = Map.groupBy(beyond, (rung) => impossibility(rung, now) ?? 'it is left out');
  const rest = [...whyNot].map(
    ([why, rungs]) => `${rungs.map((rung) => RUNG_FACTS[rung].words.doing).join(', ')}: ${why}`,
  );
  return [triedOf(recovery), ...(rest.length > 0 ? rest : ['no other means is left'])].join('; ');
}

function triedOf(recovery: LadderRow | null): string {
  if (!recovery || recovery.attempts === 0) return 'it does not come back';
  const { rung, attempts } = recovery;
  return `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} at ${RUNG_FACTS[rung].words.doing} did not help`;
}

const MINUTE_MS = 60_000;
/** For so long a machine that does not answer may heed a graceful reboot, before it is forced. */
export const GRACE_MS = 2 * MINUTE_MS;
/** A first attempt on a rung waits for three times its longest boot, but at least for this. */
const SHORTEST_WAIT_MS = 2 * MINUTE_MS;
const BOOTS = 3;

/**
 * How long the evidence of a step is waited for: the rung's patience. A first attempt waits less
 * where the machine's own boots are known to be quick: if it was ignored, the next comes sooner.
 */
export function patienceOf(
  { rung, attempt }: Pick<LadderStep, 'rung' | 'attempt'>,
  { patienceMs }: RungPolicy,
  bootTimes: BootTimes,
): number {
  const known = rung === 'reinstalling' ? bootTimes.reinstall : bootTimes.reboot;
  if (attempt > 1 || rung === 'restartingAgent' || known.length === 0) return patienceMs;
  const usualMs = BOOTS * 1_000 * Math.max(...known);
  return Math.min(patienceMs, Math.max(SHORTEST_WAIT_MS, usualMs));
}

/** How long after the request a machine that does not answer is beyond reach: not within its usual boot. */
export const beyondReachMs = ({ reboot }: BootTimes): number =>
  Math.max(BEYOND_REACH_MS, 1_000 * Math.max(0, ...reboot));

/** How long to wait before the same thing may be asked for again; 0: at once. */
export function askAgainInMs(
  recovery: LadderRow | null,
  rung: Rung,
  { nowMs, askAgainMs }: Pick<LadderCircumstances, 'nowMs' | 'askAgainMs'>,
): number {
  const askedAtMs = recovery?.askedRung === rung ? recovery.askedAtMs : null;
  return askedAtMs === null ? 0 : Math.max(0, askedAtMs + askAgainMs - nowMs);
}

const CAUSE_MAX = 300;
/** What a person who is called wants to know of. */
const TOLD: readonly (readonly [Process, string])[] = [
  ['ShepherdRecovery', 'recovery'],
  ['ShepherdReinstall', 'reinstallation'],
  ['ShepherdAgentStart', 'agent start'],
];

/** What failed last on a machine, for people; null: nothing since its agent was started. */
export function lastFailures({ backoffs }: Pick<MachineRow, 'backoffs'>): string | null {
  const told = TOLD.flatMap(([process, name]) => {
    const cause = backoffs.find((each) => each.process === process)?.cause;
    return cause === undefined ? [] : [`last failure of ${name}: ${visibleText(cause, CAUSE_MAX)}`];
  });
  return told.length === 0 ? null : told.join('; ');
}
