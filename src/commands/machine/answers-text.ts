import type { RequestState } from '../../adapters/bmdb/port.ts';
import { EXIT_FAILED, EXIT_NOT_SETTLED } from '../remote/failures.ts';
import { noteLines, paragraph, plainCell, timeText } from '../layout.ts';

/** The state of a request. */
export interface RequestOutcome {
  /** A slot, a pool, a provider, or `fleet`. */
  readonly of: string;
  readonly state: RequestState['state'];
  /** The result, for people; null while the request is open. */
  readonly outcome: string | null;
  readonly expiresAtMs: number | null;
}

/** 0: all requests are done, or sent if the command does not wait. 3: a request is still open. 1: a request was refused. */
export function exitCodeOf(answers: readonly RequestOutcome[], waits: boolean): number {
  const has = (wanted: RequestOutcome['state']) => answers.some(({ state }) => state === wanted);
  if (has('refused')) return EXIT_FAILED;
  return waits && has('open') ? EXIT_NOT_SETTLED : 0;
}

interface RequestReport {
  readonly verb: string;
  /** The idempotency key, given or generated. */
  readonly key: string;
  readonly answers: readonly RequestOutcome[];
  /** What blocks the open requests. */
  readonly why: readonly string[];
  readonly width: number;
}

/** Formats the state of requests, one line for each. */
export function answersText({ verb, key, answers, why, width }: RequestReport): string {
  return [
    ...answers.map((answer) => answerText(verb, answer, width)),
    ...(answers.length > 1 ? [sumOf(answers)] : []),
    ...why.map((line) => paragraph(line, width)),
    `key: ${plainCell(key)}`,
  ].join('\n');
}

const WORDS: Readonly<Record<RequestOutcome['state'], string>> = {
  open: 'submitted',
  done: 'done',
  refused: 'REFUSED',
};

function answerText(verb: string, answer: RequestOutcome, width: number): string {
  const head = plainCell(`${verb} ${answer.of}: ${WORDS[answer.state]}`);
  const { outcome, expiresAtMs } = answer;
  const valid = expiresAtMs === null ? null : `valid until ${timeText(expiresAtMs)}`;
  const also = answer.state === 'open' ? valid : outcome;
  if (also === null) return head;
  const line = `${head}: ${also}`;
  const isShort = line.length <= width && !line.includes('\n');
  return isShort ? plainCell(line) : `${head}\n${noteLines(also, width)}`;
}

function sumOf(answers: readonly RequestOutcome[]): string {
  const counts = (Object.keys(WORDS) as RequestOutcome['state'][])
    .map((state) => [state, answers.filter((each) => each.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${WORDS[state].toLowerCase()}`);
  return `${answers.length} in all: ${counts.join(', ')}`;
}
