import { spanText, visibleText } from '../../lib/texts.ts';
import type { Way } from './blocks.ts';

/** Longest sentence, in UTF-16 code units. */
export const SENTENCE_MAX = 240;
/** What others wrote is cut to this wherever it does not fit whole. */
const REASON_MIN = 40;
const PHRASE_MAX = 70;
const NEXT_MAX = 90;

export interface Told {
  /** `Running · silent`. */
  readonly place: string;
  readonly sinceMs: number | null;
  readonly reason: string;
  /** It is silent, or its agent cannot be started, for too long. */
  readonly needsPerson: boolean;
  readonly ways: readonly Way[];
  readonly next: string;
  readonly nowMs: number;
}

/**
 * "<state> for <span> because <reason>; it needs a person; <what stands in the way, until when>; next: <work> <when>."
 * What does not fit is cut: first the reason, then all ways but the first.
 */
export function sentenceOf({ ways, ...story }: Told): string {
  const { place, sinceMs, needsPerson, nowMs } = story;
  const urgent = needsPerson ? '; it needs a person' : '';
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

/** Its place in the queue counts only once all else has ended. */
const linkTo = ({ kind }: Way): string => (kind === 'budget' ? ', then ' : ', ');

function phraseOf({ phrase, endsAtMs, timeless }: Way, nowMs: number): string {
  const text = clip(oneLine(phrase), timeless ? 2 * PHRASE_MAX : PHRASE_MAX);
  return timeless || endsAtMs === null ? text : `${text} for ${spanText(endsAtMs - nowMs)} more`;
}

/** What machines, providers and people wrote, on one line. */
export const oneLine = (text: string): string => visibleText(text).replaceAll(/\s+/g, ' ').trim();

const clip = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, Math.max(0, max - 1)).trimEnd()}…`;
