import { orderFor } from '../eligibility.ts';
import { BEYOND_REACH_MS, DEFAULT_ESCALATION } from '../policy.ts';
import {
  RUNGS,
  RUNG_FACTS,
  STANDING_RUNGS,
  lackOf,
  type MachineMeans,
  type Rung,
  type RungPolicy,
  type StandingRung,
} from './rungs.ts';
import type { BootTimes, LadderRow, MachineRow, Process } from '../machine.ts';
import type { OrderVerb } from '../verbs.ts';
import { spanText, visibleText } from '../../lib/texts.ts';

/** When a machine is chronic: it was recovered this often within this time. 0 episodes: never. */
export interface ChronicPolicy {
  readonly episodes: number;
  readonly withinMs: number;
}
export const DEFAULT_CHRONIC: ChronicPolicy = { episodes: 4, withinMs: 7 * 86_400_000 };
/** Recoveries are remembered for this long. */
export const CHRONIC_WITHIN_MAX_MS = 30 * 86_400_000;

export type LadderPolicy = Readonly<Record<Rung, RungPolicy>> & { readonly chronic: ChronicPolicy };

const ladder = (attemptsAt: (rung: Rung) => number): LadderPolicy => ({
  ...(Object.fromEntries(
    RUNGS.map((rung) => [
      rung,
      { attempts: attemptsAt(rung), patienceMs: RUNG_FACTS[rung].patienceMs },
    ]),
  ) as Record<Rung, RungPolicy>),
  chronic: DEFAULT_CHRONIC,
});

/** For providers where recovery may erase disks. */
export const ERASING_LADDER = ladder((rung) => RUNG_FACTS[rung].attempts);
/** Erases no disks: each provider must enable reinstallation by name. */
export const DEFAULT_LADDER = ladder((rung) =>
  RUNG_FACTS[rung].erases ? 0 : RUNG_FACTS[rung].attempts,
);

/** Everything besides the machine's rows that determines the next step. */
export interface LadderCircumstances {
  readonly means: MachineMeans;
  readonly policy: LadderPolicy;
  /** A `preserve` hold is on the machine: its data must not be lost. */
  readonly preserved: boolean;
  /** Database clock. */
  readonly nowMs: number;
  /** A request made less than this ago is not repeated. */
  readonly askAgainMs: number;
  /** The machine's controller, if it hangs and may be restarted; otherwise null or absent. */
  readonly hungController?: string | null;
}

/** Processes that carry out steps of the ladder. */
export type LadderProcess = Extract<Process, 'ShepherdRecovery' | 'ShepherdReinstall'>;

/** The next step on the machine. */
export interface LadderStep {
  readonly rung: Rung;
  readonly process: LadderProcess;
  /** Number of the attempt on this rung, from 1. */
  readonly attempt: number;
  /** How a reboot is requested. */
  readonly mode: 'graceful' | 'force';
  /** The step was already requested and may still succeed: it is only waited for. */
  readonly resumed: boolean;
  /** Key of the operator's order for this step; null: the ladder's own step. */
  readonly order: string | null;
}
/** Nothing is left to try. */
export interface LadderEnd {
  readonly end: string;
  /** Another agent start may help and is tried. Absent: a person is needed. */
  readonly startAgain?: true;
  /** `chronic`: it was recovered too often, and heartbeats do not end its quarantine. */
  readonly cause?: 'chronic';
}

export const RUNG_OF: Readonly<Record<OrderVerb, StandingRung>> = {
  'restart-agent': 'restartingAgent',
  reboot: 'rebooting',
  reinstall: 'reinstalling',
};

export const processOf = (rung: Rung): LadderProcess =>
  rung === 'reinstalling' ? 'ShepherdReinstall' : 'ShepherdRecovery';

/**
 * The next step for a machine that is lost, whose agent start was given up, or that has an
 * operator's order. Within an episode it never returns to a milder rung and limits the attempts on
 * each rung. So every episode ends, with a running machine or with a person. Only attempts that
 * never reach the machine go on forever.
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
  const chronic = chronicText(row, now);
  if (chronic !== null) return { end: chronic, cause: 'chronic' };
  const begun = row.slot.isRecovering && recovery ? recovery.rung : beginning(row, now);
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

/** A hanging controller can carry out no request: it is restarted first, on any rung. */
const resetsFirst = (rung: StandingRung, now: LadderCircumstances): boolean =>
  RUNG_FACTS[rung].means !== null &&
  (now.hungController ?? null) !== null &&
  impossibility('resettingBmc', now) === null;

/**
 * An attempt that never reached the machine does not count. If no stronger rung is possible or was
 * tried in this episode, the agent start is repeated until enough starts that reached the machine
 * failed. Null: a person is needed.
 */
function startAgain({ agentStarted, startAttempt, recovery }: MachineRow): LadderEnd | null {
  if (agentStarted || !startAttempt) return null;
  if (recovery && recovery.rung !== 'restartingAgent') return null;
  const { count, unreached } = startAttempt;
  if (count - unreached >= DEFAULT_ESCALATION.failuresMax) return null;
  const what =
    unreached > 0
      ? `${unreached} of ${count} agent starts never reached it`
      : 'the result of its last agent start was never recorded';
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

/** The next step if the agent cannot be restarted because SSH does not answer. */
export const stepBeyondAgent = (
  row: MachineRow,
  { policy, ...now }: LadderCircumstances,
): LadderStep | LadderEnd => {
  const restartingAgent = { ...policy.restartingAgent, attempts: 0 };
  return nextStep({ ...row, order: null }, { ...now, policy: { ...policy, restartingAgent } });
};

/** The next step after the restart of a hanging controller, or if a restart is not allowed now. */
export const stepBeyondController = (
  row: MachineRow,
  now: LadderCircumstances,
): LadderStep | LadderEnd => stepBeyondAgent(row, { ...now, hungController: null });

/** Recoveries of the slot that count now. */
const recentEpisodes = (
  { slot }: MachineRow,
  { policy: { chronic }, nowMs }: LadderCircumstances,
): number => slot.episodes.filter((beganAtMs) => beganAtMs > nowMs - chronic.withinMs).length;

/**
 * Why no further episode begins: the machine keeps failing, and reviving it helps nobody. An
 * episode under way goes on. Null: the machine is not chronic.
 */
export function chronicText(row: MachineRow, now: LadderCircumstances): string | null {
  const { episodes, withinMs } = now.policy.chronic;
  if (episodes === 0 || row.slot.isRecovering) return null;
  const count = recentEpisodes(row, now);
  if (count < episodes) return null;
  return `it is chronic: it was recovered ${count} times within ${spanText(withinMs)} and fails again`;
}

/**
 * Where an episode begins: at the rung that healed the last one, because milder rungs did not help
 * then. Never at a rung that erases disks.
 */
function beginning(row: MachineRow, now: LadderCircumstances): StandingRung {
  const { recovery, slot } = row;
  const mildest = recovery?.rung ?? firstRung(row);
  const healed = recentEpisodes(row, now) === 0 ? -1 : HEALING.indexOf(slot.healedBy ?? '');
  return STANDING_RUNGS[Math.max(healed, STANDING_RUNGS.indexOf(mildest))]!;
}
const HEALING: readonly string[] = STANDING_RUNGS.filter((rung) => !RUNG_FACTS[rung].erases);

/** A machine that never had an agent has none to restart. */
const firstRung = ({ agentStarted }: MachineRow): StandingRung =>
  agentStarted ? 'restartingAgent' : 'rebooting';
const notBelow = (rung: StandingRung): StandingRung =>
  rung === 'restartingAgent' ? 'rebooting' : rung;

/** The machine may have ignored a reboot that was neither refused nor proved. */
const isUnproved = (recovery: LadderRow | null, rung: Rung): boolean =>
  rung === 'rebooting' && recovery?.askedRung === 'rebooting';

const LACKS = { provider: 'its provider cannot', machine: 'this machine has no means for it' };

/** Why the rung cannot be taken; null: it can. */
export function impossibility(rung: Rung, now: LadderCircumstances): string | null {
  const { means, policy, preserved } = now;
  const { means: needed, erases } = RUNG_FACTS[rung];
  const lack = lackOf(needed, means);
  if (lack !== null) return LACKS[lack];
  if (policy[rung].attempts === 0) {
    return erases ? 'recovery may not erase its disks' : 'the configuration leaves it out';
  }
  return erases && preserved ? 'a hold preserves its data' : null;
}

/**
 * Whether the last request is still open. The requesting daemon ended before the attempt did, so no
 * cooldown began, and patience remains. An order is one attempt and is never repeated.
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

/** The last attempt, and why no further rung is possible; earlier rungs are unknown. */
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
/** A machine without an answer has this long to follow a graceful reboot before a forced one. */
export const GRACE_MS = 2 * MINUTE_MS;
/** Ends the name of a graceful reboot's operation if the machine did not answer before it. */
const UNHEARD = '; the machine did not answer';
export const unheard = (operation: string): string => `${operation}${UNHEARD}`;
/** Whether a hung machine may have ignored the operation; a name says so as long as it is kept. */
export const isUnheard = (operation: string | null): boolean =>
  operation?.endsWith(UNHEARD) === true;

/** A first attempt waits three times the machine's longest boot, but at least this long. */
const SHORTEST_WAIT_MS = 2 * MINUTE_MS;
const BOOTS = 3;

/**
 * How long a step waits for evidence: its rung's patience. A first attempt waits less if the
 * machine is known to boot quickly, so that the next attempt follows sooner if the first was
 * ignored.
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

/** A machine without an answer is beyond reach this long after the request: its longest boot. */
export const beyondReachMs = ({ reboot }: BootTimes): number =>
  Math.max(BEYOND_REACH_MS, 1_000 * Math.max(0, ...reboot));

/** Wait before the same request may be repeated; 0: none. */
export function askAgainInMs(
  recovery: LadderRow | null,
  rung: Rung,
  { nowMs, askAgainMs }: Pick<LadderCircumstances, 'nowMs' | 'askAgainMs'>,
): number {
  const askedAtMs = recovery?.askedRung === rung ? recovery.askedAtMs : null;
  return askedAtMs === null ? 0 : Math.max(0, askedAtMs + askAgainMs - nowMs);
}

const CAUSE_MAX = 300;
/** Processes whose failures matter to a person who is called. */
const TOLD: readonly (readonly [Process, string])[] = [
  ['ShepherdRecovery', 'recovery'],
  ['ShepherdReinstall', 'reinstallation'],
  ['ShepherdAgentStart', 'agent start'],
];

/** The last failures on a machine, for people; null: none since its agent was started. */
export function lastFailures({ backoffs }: Pick<MachineRow, 'backoffs'>): string | null {
  const told = TOLD.flatMap(([process, name]) => {
    const cause = backoffs.find((each) => each.process === process)?.cause;
    return cause === undefined ? [] : [`last failure of ${name}: ${visibleText(cause, CAUSE_MAX)}`];
  });
  return told.length === 0 ? null : told.join('; ');
}
