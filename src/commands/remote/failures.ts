import { explain, FleetError, UsageError } from '../../domain/errors.ts';

export const EXIT_FAILED = 1;
export const EXIT_USAGE = 2;
export const EXIT_NOT_SETTLED = 3;
export const EXIT_NOT_ALLOWED = 4;
export const EXIT_NO_CONSOLE = 5;
export const EXIT_INTERRUPTED = 130;
const EXIT_TERMINATED = 143;

/** Body of an error that a console answers (RFC 9457). */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly [member: string]: unknown;
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  'not-signed-in': EXIT_NOT_ALLOWED,
  'not-allowed': EXIT_NOT_ALLOWED,
  malformed: EXIT_USAGE,
  'key-reused': EXIT_USAGE,
  changed: EXIT_USAGE,
};

/** The console refuses. */
export class Refused extends FleetError {
  readonly code: string;
  readonly retryable: boolean;
  readonly problem: ProblemBody;
  constructor(problem: ProblemBody, advice: string | null) {
    super(advice === null ? problem.detail : `${problem.detail}; ${advice}`);
    this.code = problem.code;
    this.retryable = problem.code === 'limited' || problem.code === 'unavailable';
    this.problem = problem;
  }
  get exitCode(): number {
    return EXIT_CODES[this.code] ?? EXIT_FAILED;
  }
}

/** No console answers. */
export class NoConsole extends FleetError {
  readonly code = 'no-console';
  readonly retryable = true;
  /** False: there was no connection, so the request reached nobody. */
  readonly wasSent: boolean;
  constructor(message: string, wasSent = true) {
    super(message);
    this.wasSent = wasSent;
  }
}

/** The same request may succeed a little later. */
export const isAway = (error: unknown): error is FleetError =>
  error instanceof NoConsole || (error instanceof Refused && error.retryable);

/** A signal ended the command. */
export class Interrupted extends FleetError {
  readonly code = 'interrupted';
  readonly retryable = true;
  readonly exitCode: number;
  constructor(by: 'SIGINT' | 'SIGTERM' = 'SIGINT') {
    super(`ended by ${by}`);
    this.exitCode = by === 'SIGTERM' ? EXIT_TERMINATED : EXIT_INTERRUPTED;
  }
}

/** The signal that ended a command. */
export const interruptOf = ({ reason }: AbortSignal): Interrupted =>
  reason instanceof Interrupted ? reason : new Interrupted();

/** The request was sent, and its answer was lost. */
export class MaybeSubmitted extends FleetError {
  readonly code = 'may-be-filed';
  readonly retryable = true;
  readonly key: string;
  readonly exitCode: number;
  constructor(key: string, cause: FleetError) {
    super(
      `the result is unknown (${cause.message}), so the request may have been submitted; ` +
        `repeat the same command with --key '${key}', which submits it only once`,
      { cause },
    );
    this.key = key;
    this.exitCode = cause instanceof Interrupted ? cause.exitCode : EXIT_NOT_SETTLED;
  }
}

/** The exit status of the process. */
export function exitCodeFor(error: FleetError): number {
  if (error instanceof Refused || error instanceof MaybeSubmitted) return error.exitCode;
  if (error instanceof Interrupted) return error.exitCode;
  if (error instanceof NoConsole) return EXIT_NO_CONSOLE;
  return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
}

/** An error as JSON. */
export function problemFor(error: FleetError): object {
  if (error instanceof Refused) return error.problem;
  const { code } = error;
  const detail = explain(error);
  const key = error instanceof MaybeSubmitted && { key: error.key };
  return { type: 'about:blank', title: code, detail, code, ...key };
}
