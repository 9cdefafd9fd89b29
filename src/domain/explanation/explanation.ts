import { fromText, spanText, visibleText } from '../../lib/texts.ts';
import { acceptanceText } from '../acceptance.ts';
import { isOfCondition } from '../conditions.ts';
import { isHeld, isInForce } from '../eligibility.ts';
import type { SlotFacts } from '../machine.ts';
import type { Process } from '../machine.ts';
import { nextStep, type LadderEnd, type LadderStep } from '../recovery/ladder.ts';
import { isUnheardTooLong } from '../recovery/guard-status.ts';
import { RUNG_FACTS, type LadderMeans } from '../recovery/rungs.ts';
import { viewOf } from '../view.ts';
import { processFor, waysOf, type Way } from './blocks.ts';
import { isOverdue } from './overdue.ts';
import { storyOf, type At, type Story } from './places.ts';
import type {
  Block,
  ExplainedWork,
  Explanation,
  ExplanationFacts,
  ExplanationMoment,
  NextStep,
} from './types.ts';

/**
 * Explains a machine's state, what delays the next work on it, and what ends each delay. Uses the
 * same facts as `viewOf`. Total: every state of every machine has a sentence.
 */
export function explanationOf(facts: ExplanationFacts, moment: ExplanationMoment): Explanation {
  const at = placeOf(facts, moment);
  const story = storyOf(at);
  const work = story.work ?? null;
  const step = work === 'recovery' && at.row ? stepOf(at) : null;
  const ways = waysOf(at, work, processFor(work, ladderProcess(step)));
  const told = nextOf(at, story, ways, step);
  const next = { ...told, atMs: wholeMs(told.atMs) };
  const { state, substate } = at;
  const { ladder, usual } = facts;
  const { loss, nowMs } = moment;
  const sinceMs = wholeMs(story.sinceMs ?? facts.seenSinceMs);
  return {
    sentence: sentenceOf({
      place: `${state} · ${substate}`,
      sinceMs,
      reason: story.reason,
      needsPerson: at.row !== null && isUnheardTooLong(at.row, moment),
      wrong: wrongOf(facts.slot, nowMs) ?? untested(at),
      ways,
      next: next.text,
      nowMs,
    }),
    sinceMs,
    by: story.by ?? null,
    blockedBy: ways.map(blockOf).toSorted(latestFirst),
    next,
    overdue: isOverdue({ state, substate, ladder, usual, loss, nowMs }, sinceMs),
  };
}

/** The true condition that begins first with its reason, and how many more there are. */
function wrongOf({ conditions, holds }: SlotFacts, nowMs: number): string | null {
  const [first, ...others] = conditions
    .filter(({ status }) => status === 'True')
    .toSorted((a, b) => (a.fromMs ?? 0) - (b.fromMs ?? 0));
  if (!first) return null;
  const more = others.length === 0 ? '' : `${others.length + 1} conditions, such as `;
  const from = fromText(first.fromMs, nowMs);
  const isOut = holds.some(
    (hold) => hold.kind === 'no-serve' && isOfCondition(hold) && isInForce(hold, nowMs),
  );
  return `${more || 'condition '}${first.type} ${from}(${first.source}${isOut ? ', leaves its pools' : ''}): ${first.reason}`;
}

/** That an acceptance follows the repair says nothing about a machine that is still broken. */
function untested({ row, moment }: At): string | null {
  const { acceptance = null, quarantine = null } = row ?? {};
  if (!acceptance || (quarantine && acceptance.state === 'waiting')) return null;
  return acceptanceText(acceptance, moment.nowMs);
}

/** The actor knows steps that rows do not show. Its step counts only while the states agree. */
function placeOf(facts: ExplanationFacts, moment: ExplanationMoment): At {
  const view = viewOf(facts.slot, moment);
  const { state, substate } = facts.shown ?? view;
  return { state, substate, view, row: facts.slot.row, facts, moment };
}

/** Stands for the means of an unknown provider. */
export const ALL_MEANS: LadderMeans = { reboot: true, power: true, reinstall: true };

function stepOf({ row, facts, moment }: At): LadderStep | LadderEnd {
  const { policy, means } = facts.ladder;
  const { nowMs } = moment;
  const preserved = isHeld(row!, 'preserve', { holds: facts.slot.holds, nowMs });
  return nextStep(row!, { policy, means: means ?? ALL_MEANS, preserved, nowMs, askAgainMs: 0 });
}

const ladderProcess = (step: LadderStep | LadderEnd | null): Process =>
  step && 'process' in step ? step.process : 'ShepherdRecovery';

const WORK_NOUNS: Readonly<Record<ExplainedWork, string>> = {
  creation: 'creation',
  agentStart: 'start of its agent',
  recovery: 'recovery',
  deprovision: 'its provider is asked to delete it',
};

function nextOf(
  { moment }: At,
  story: Story,
  ways: readonly Way[],
  step: LadderStep | LadderEnd | null,
): NextStep {
  const { work = null, end = 'nothing', endAtMs = null } = story;
  if (work === null) {
    const isAhead = endAtMs !== null && endAtMs >= moment.nowMs;
    return { work, atMs: isAhead ? endAtMs : null, text: oneLine(end) };
  }
  const text = `${nounOf(work, step)}${whenOf(ways)}`;
  return { work, atMs: atOf(ways, moment.nowMs), text };
}

function nounOf(work: ExplainedWork, step: LadderStep | LadderEnd | null): string {
  if (!step) return WORK_NOUNS[work];
  if ('rung' in step) return RUNG_FACTS[step.rung].words.noun;
  return step.startAgain ? WORK_NOUNS.agentStart : 'nothing is left to try, so a person is asked';
}

/** A single block states its own duration. */
function whenOf(ways: readonly Way[]): string {
  if (ways.length === 0) return ', at once';
  return ways.length === 1 ? '' : `, after ${ways.length === 2 ? 'both' : 'all of that'}`;
}

function atOf(ways: readonly Way[], nowMs: number): number | null {
  const ends = ways.map(({ endsAtMs }) => endsAtMs);
  return ends.every((end) => end !== null) ? Math.max(nowMs, ...ends) : null;
}

const blockOf = ({ kind, text, endsAtMs, endedBy }: Way): Block => ({
  kind,
  text: oneLine(text),
  endsAtMs: wholeMs(endsAtMs),
  endedBy: oneLine(endedBy),
});

/** Rounds up to whole ms: the database clock has fractions, and an end must have passed. */
const wholeMs = (atMs: number | null): number | null => (atMs === null ? null : Math.ceil(atMs));

/** Compares ends; the difference of two infinities is NaN. */
function latestFirst(a: Block, b: Block): number {
  const [endA, endB] = [a.endsAtMs ?? Infinity, b.endsAtMs ?? Infinity];
  return endA === endB ? 0 : endB - endA;
}

/** Longest sentence, in UTF-16 code units. */
export const SENTENCE_MAX = 240;
/** Texts of people and providers that do not fit are cut to this length. */
const REASON_MIN = 40;
const PHRASE_MAX = 70;
const NEXT_MAX = 90;
const WRONG_MAX = 100;

export interface ExplanationText {
  /** `Running · silent`. */
  readonly place: string;
  readonly sinceMs: number | null;
  readonly reason: string;
  /** The machine has been silent, or its agent unstartable, for too long. */
  readonly needsPerson: boolean;
  /** Its true conditions, or else its acceptance; null: there is nothing to say. */
  readonly wrong: string | null;
  readonly ways: readonly Way[];
  readonly next: string;
  readonly nowMs: number;
}

/**
 * "<state> for <span> because <reason>; it needs a person; <conditions>; <blocks, until when>; next:
 * <work> <when>." If the sentence is too long, it first loses the reason, then all blocks but the first.
 */
export function sentenceOf({ ways, ...story }: ExplanationText): string {
  const { place, sinceMs, needsPerson, wrong, nowMs } = story;
  const ill = wrong === null ? '' : `; ${clip(oneLine(wrong), WRONG_MAX)}`;
  const urgent = `${needsPerson ? '; it needs a person' : ''}${ill}`;
  const since = sinceMs === null ? '' : ` for ${spanText(nowMs - sinceMs)}`;
  const next = clip(oneLine(story.next), NEXT_MAX);
  const head = `${place}${since} because `;
  const phrases = ways.map((way, at) => `${at === 0 ? '' : linkTo(way)}${phraseOf(way, nowMs)}`);
  const reason = oneLine(story.reason);
  for (let kept = phrases.length; kept >= 0; kept -= 1) {
    const more = phrases.length - kept;
    const left = more > 0 ? `${kept > 0 ? ', and ' : ''}${more} more in the way` : '';
    const told = `${phrases.slice(0, kept).join('')}${left}`;
    const tail = `${urgent}${told === '' ? '' : `; ${told}`}; next: ${next}.`;
    const room = SENTENCE_MAX - head.length - tail.length;
    if (room >= Math.min(reason.length, REASON_MIN)) return `${head}${clip(reason, room)}${tail}`;
  }
  return clip(`${head}${reason}${urgent}; next: ${next}.`, SENTENCE_MAX);
}

/** The place in the queue counts only after all other blocks have ended. */
const linkTo = ({ kind }: Way): string => (kind === 'budget' ? ', then ' : ', ');

function phraseOf({ phrase, endsAtMs, timeless }: Way, nowMs: number): string {
  const text = clip(oneLine(phrase), timeless ? 2 * PHRASE_MAX : PHRASE_MAX);
  return timeless || endsAtMs === null ? text : `${text} for ${spanText(endsAtMs - nowMs)} more`;
}

/** Puts text of machines, providers and people on one line. */
export const oneLine = (text: string): string => visibleText(text).replaceAll(/\s+/g, ' ').trim();

const clip = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1)).trimEnd()}…`;
