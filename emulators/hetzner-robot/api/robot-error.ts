/** A refusal as the API words it. */
export class RobotError extends Error {
  readonly status: number;
  readonly code: string;
  /** Beside status, code and message. */
  readonly more: Readonly<Record<string, unknown>>;
  constructor(
    status: number,
    code: string,
    message: string,
    more: Readonly<Record<string, unknown>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.more = more;
  }
}

export const errorBody = ({ status, code, message, more }: RobotError) => ({
  error: { status, code, message, ...more },
});

export const invalidInput = (wrong: {
  readonly missing?: readonly string[];
  readonly invalid?: readonly string[];
}) =>
  new RobotError(400, 'INVALID_INPUT', 'invalid input', {
    missing: wrong.missing ?? null,
    invalid: wrong.invalid ?? null,
  });

export const serverNotFound = () => new RobotError(404, 'SERVER_NOT_FOUND', 'Server not found');
export const notFound = (what: string) => new RobotError(404, 'NOT_FOUND', `${what} not found`);
