import { spanText } from '../../lib/texts.ts';
import { currentHeartbeat, installState } from '../eligibility.ts';
import type { MachineRow } from '../machine.ts';
import { patienceOf, type LadderPolicy } from '../recovery/ladder.ts';
import { isRung, RUNG_FACTS, type Rung } from '../recovery/rungs.ts';
import type { MachineState } from '../states.ts';
import { orderText, type MachineView } from '../view.ts';
import type { ExplainedWork, ExplanationFacts, ExplanationMoment } from './types.ts';

/** A machine's state, from its actor or else from its rows. */
export interface At {
  readonly state: MachineState;
  readonly substate: string;
  readonly view: MachineView;
  readonly row: MachineRow | null;
  readonly facts: ExplanationFacts;
  readonly moment: ExplanationMoment;
}

/** The explanation of a machine's state. */
export interface Story {
  /** Continues the sentence after "because". */
  readonly reason: string;
  readonly sinceMs?: number | null | undefined;
  readonly by?: string | null;
  /** The work to do on the machine; absent: none. */
  readonly work?: ExplainedWork;
  /** What ends the current work or wait, and its latest time. */
  readonly end?: string;
  readonly endAtMs?: number | null;
}

/** Total: states outside the tables below get a general text. */
export const storyOf = (at: At): Story => STORIES[at.state](at);

const STORIES: Readonly<Record<MachineState, (at: At) => Story>> = {
  Reserved: reserved,
  Provisioned: provisioned,
  AgentStarting: agentStarting,
  Running: running,
  Recovering: recovering,
  HandedOver: () => ({
    reason: 'its operating system is installed',
    end: 'nothing, until an operator asks for another installation or gives it back',
  }),
  Quarantined: quarantined,
  Deprovisioning: deprovisioning,
  Released: () => ({
    reason: 'a complete listing no longer has its slot',
    end: 'nothing: it is forgotten, unless its provider lists the slot again',
  }),
};

function reserved({ substate, facts: { slot } }: At): Story {
  const { intent, penalty } = slot;
  if (substate === 'creating') {
    const sinceMs = intent?.createdAtMs;
    const reason = intent?.lastError ?? 'its device is being created';
    return { reason, sinceMs, end: 'its device is found and recorded, or forgotten after an hour' };
  }
  const reason = penalty && substate === 'penalised' ? penalty.cause : 'nothing is on its slot';
  return { reason, work: 'creation' };
}

function provisioned({ substate, view, row }: At): Story {
  const sinceMs = row && isFresh(row) ? row.createdAtMs : null;
  const due = { sinceMs, work: view.next ?? 'agentStart' } as const;
  switch (substate) {
    case 'installing':
      return { ...due, reason: 'its provider installs it' };
    case 'stopped':
      return { sinceMs, ...unless(view.next), ...STOPPED };
    case 'failed':
      return { sinceMs, ...unless(view.next), ...FAILED };
    case 'backingOff':
      return { ...due, reason: view.reason ?? 'the last start of its agent failed' };
    default:
      return { ...due, reason: view.reason ?? 'its agent is not started yet' };
  }
}

const STOPPED = {
  reason: 'it is switched off at its provider',
  end: 'nothing, until somebody switches it on there or asks for a reboot',
};
const FAILED = {
  reason: 'its provider gave up on this machine',
  end: 'nothing, until an operator gives it back or its provider repairs it',
};
const unless = (next: MachineView['next']) => (next === null ? {} : { work: next });

/** The machine has never been in another state. */
const isFresh = ({ recovery, heartbeat, agentStarted, startAttempt }: MachineRow): boolean =>
  recovery === null && heartbeat === null && agentStarted === null && startAttempt === null;

function agentStarting({ row }: At): Story {
  const sinceMs = row?.work.find(({ process }) => process === 'ShepherdAgentStart')?.startedAtMs;
  const reason = 'an agent is being started on it';
  return { reason, sinceMs, end: 'it runs once its agent is recorded; else it backs off' };
}

function running({ substate, row, view, moment: { loss } }: At): Story {
  const heardAtMs = (row && currentHeartbeat(row)?.atMs) ?? null;
  const startedAtMs = row?.agentStarted?.atMs ?? null;
  const sinceHeardMs = heardAtMs ?? startedAtMs;
  switch (substate) {
    case 'silent': {
      const limitMs = heardAtMs === null ? loss.firstHeartbeatMs : loss.heartbeatMs;
      const what = heardAtMs === null ? 'its agent never called' : 'no heartbeat came';
      const reason = `${what} within ${spanText(limitMs)}`;
      return { reason, sinceMs: sinceHeardMs, work: 'recovery' };
    }
    case 'installingOs':
      return {
        reason: 'its agent installs an operating system',
        sinceMs: row?.installation.handedOutAtMs,
        end: 'its report of the installation, or silence',
        endAtMs: (row?.installation.handedOutAtMs ?? 0) + loss.handOutMs,
      };
    case 'awaitingHeartbeat':
      return {
        reason: 'its agent was started and has not called yet',
        sinceMs: startedAtMs,
        end: 'its first heartbeat; else it counts as silent',
        endAtMs: (startedAtMs ?? 0) + loss.firstHeartbeatMs,
      };
    case 'late':
      return {
        reason: 'a heartbeat is overdue',
        sinceMs: sinceHeardMs,
        end: 'its next heartbeat; else it counts as silent',
        endAtMs: (heardAtMs ?? 0) + loss.heartbeatMs,
      };
    default:
      return {
        reason: row && installState(row) === 'FAILED' ? FAILED_INSTALL : 'its agent reports',
        sinceMs: startedAtMs,
        ...unless(view.next),
        end: 'nothing, as long as its heartbeats come',
      };
  }
}

const FAILED_INSTALL = 'its agent reports, though an installation failed';

function recovering({ substate, row, view, facts: { ladder } }: At): Story {
  const askedAtMs = row?.recovery?.askedAtMs ?? null;
  if (substate === 'coolingDown') {
    const reason = view.reason ?? 'an attempt to bring it back is over';
    return { reason, sinceMs: askedAtMs, work: 'recovery' };
  }
  const order = row?.order ?? null;
  const story = {
    reason: order ? orderText(order) : (view.reason ?? LOST),
    by: order?.by ?? null,
    sinceMs: row?.work.find(({ process }) => RECOVERY.includes(process))?.startedAtMs,
  };
  if (!isRung(substate)) return { ...story, end: 'the end of this attempt' };
  const { boots, words } = RUNG_FACTS[substate];
  return {
    ...story,
    end: `its agent is started once ${boots ? 'a boot is proved' : words.done}; else the ladder goes on`,
    endAtMs: askedAtMs === null ? null : askedAtMs + patienceAt(row!, substate, ladder.policy),
  };
}

/** A first attempt may have less patience than its rung. */
const patienceAt = (row: MachineRow, rung: Rung, policy: LadderPolicy): number =>
  patienceOf({ rung, attempt: row.recovery?.attempts ?? 1 }, policy[rung], row.bootTimes);

const LOST = 'it fell silent, or its agent could not be started';
const RECOVERY: readonly string[] = ['ShepherdRecovery', 'ShepherdReinstall'];

function quarantined({ view, facts, row }: At): Story {
  const reason = view.reason ?? 'somebody or something set it aside';
  const sinceMs = view.substate === 'missing' ? row?.missing?.sinceMs : null;
  return { reason, by: facts.quarantinedBy, sinceMs, end: 'nothing' };
}

function deprovisioning({ row }: At): Story {
  const asked = row?.deprovision;
  return {
    reason: asked ? `${asked.requestedBy} asked for it: ${asked.reason}` : 'somebody gave it back',
    by: asked?.requestedBy ?? null,
    sinceMs: asked?.requestedAtMs,
    work: 'deprovision',
  };
}

/** A log line of a machine that shows when, and by whom, the machine entered its state. */
export interface PastLine {
  readonly atMs: number;
  readonly kind: string;
  /** A component, or a person. */
  readonly actor: string;
}

/** Kinds of lines that lead to a state. For other states, the rows hold the time. */
const LEADS_TO: Readonly<Partial<Record<MachineState, readonly string[]>>> = {
  Provisioned: ['recovered', 'workFailed', 'released'],
  Recovering: ['workFailed'],
  HandedOver: ['installReported'],
  Quarantined: ['quarantined'],
};

/** States whose explanation needs the log. */
export const hasPast = (state: MachineState): boolean => LEADS_TO[state] !== undefined;

/**
 * Adds the log's facts to the rows.
 * @param lines lines of the machine, oldest first.
 */
export function pastOf(
  state: MachineState,
  lines: readonly PastLine[],
): Pick<ExplanationFacts, 'seenSinceMs' | 'quarantinedBy'> {
  const kinds = LEADS_TO[state] ?? [];
  const last = lines.findLast(({ kind }) => kinds.includes(kind));
  return {
    seenSinceMs: last?.atMs ?? null,
    quarantinedBy: (state === 'Quarantined' && last?.actor) || null,
  };
}
