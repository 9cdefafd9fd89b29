import { UsageError } from '../../domain/errors.ts';
import { ask, type Operator } from './operator.ts';

/** How much the operator has agreed to on the command line. */
export interface ConsentFlags {
  /** Only show what would be done. */
  readonly dryRun: boolean;
  /** Do not ask; only together with `expectCount`. */
  readonly yes: boolean;
  /** How many things are expected to be acted on. */
  readonly expectCount?: number | undefined;
}

/**
 * To be called before anything else is done.
 * @throws {UsageError} there is nobody to ask, or `yes` without saying to how much.
 */
export function requireWayToAsk({ dryRun, yes, expectCount }: ConsentFlags, { input }: Operator) {
  if (yes && expectCount === undefined) {
    throw new UsageError('--yes agrees to a number of things; say it with --expect-count');
  }
  if (dryRun || yes || input.isTTY === true) return;
  throw new UsageError('there is no terminal to ask; say --yes and --expect-count, or --dry-run');
}

export interface Question {
  /** What is about to happen, one line each. */
  readonly lines: readonly string[];
  readonly prompt: string;
  /** The one answer that means yes. */
  readonly answer: string;
  /** How many things this is about, for `--expect-count`. */
  readonly count: number;
}

/**
 * Asks the operator, unless the answer was given beforehand. Anything but the one answer, the end of
 * the input and an interrupt mean no.
 */
export async function agrees(
  { lines, prompt, answer, count }: Question,
  { yes, expectCount }: ConsentFlags,
  operator: Operator,
): Promise<boolean> {
  lines.forEach((line) => operator.note(line));
  if (expectCount !== undefined && expectCount !== count) {
    operator.note(`${expectCount} were expected, but it is ${count}`);
    return false;
  }
  if (yes) return true;
  const typed = await ask(operator, prompt);
  if (typed?.trim() === answer) return true;
  operator.note(typed === null ? 'no answer' : 'not the answer that was asked for');
  return false;
}
