import type { Answer } from './ask.ts';
import { noteLines, paragraph, plainCell, timeText } from './layout.ts';

interface Report {
  readonly verb: string;
  /** As the person gave it, or as it was made. */
  readonly key: string;
  readonly answers: readonly Answer[];
  /** What keeps those that are not settled from being so. */
  readonly why: readonly string[];
  readonly width: number;
}

/** How requests stand, a line for each, and how to ask for the same again. */
export function answersText({ verb, key, answers, why, width }: Report): string {
  return [
    ...answers.map((answer) => answerText(verb, answer, width)),
    ...(answers.length > 1 ? [sumOf(answers)] : []),
    ...why.map((line) => paragraph(line, width)),
    `key: ${plainCell(key)}`,
    ...againText(answers, width),
  ].join('\n');
}

const WORDS: Readonly<Record<Answer['state'], string>> = {
  open: 'filed',
  done: 'done',
  refused: 'REFUSED',
  mistaken: 'MISTAKEN',
  unfiled: 'NOT FILED',
};

function answerText(verb: string, answer: Answer, width: number): string {
  const head = plainCell(`${verb} ${answer.of}: ${WORDS[answer.state]}`);
  const { outcome, expiresAtMs } = answer;
  const valid = expiresAtMs === null ? null : `valid until ${timeText(expiresAtMs)}`;
  const also = answer.state === 'open' ? valid : outcome;
  if (also === null) return head;
  const line = `${head}: ${also}`;
  const isShort = line.length <= width && !line.includes('\n');
  return isShort ? plainCell(line) : `${head}\n${noteLines(also, width)}`;
}

function sumOf(answers: readonly Answer[]): string {
  const counts = (Object.keys(WORDS) as Answer['state'][])
    .map((state) => [state, answers.filter((each) => each.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${WORDS[state].toLowerCase()}`);
  return `${answers.length} in all: ${counts.join(', ')}`;
}

/** Asking once more with the same key files only what is missing. */
const againText = (answers: readonly Answer[], width: number): string[] =>
  answers.some(({ state }) => state === 'unfiled')
    ? [paragraph('repeat the same command with this --key: only what is missing is filed', width)]
    : [];
