import { pino } from 'pino';
import { withDiskFull } from '../../domain/errors.ts';
import { visibleText } from '../../domain/texts.ts';

/** What a log shows of an error. */
export interface ErrorFields {
  readonly type: string;
  /** With those of its causes. */
  readonly message: string;
  /** Such as `ECONNREFUSED`, or a FleetError's. */
  readonly code?: string | number;
  /** With those of its causes. */
  readonly stack?: string;
  /** Of an error that stands for several. */
  readonly errors?: readonly ErrorFields[];
}

const ERRORS_MAX = 8;
const STACK_MAX = 8_000;

/**
 * An error for a log line: its texts and those of its causes. Whatever else hangs on it stays out:
 * libraries leave there what they were asked with, headers and bodies with all secrets.
 */
export function errorFields(value: unknown): ErrorFields | string {
  if (!(value instanceof Error))
    return typeof value === 'string' ? visibleText(value) : tell(value);
  const { type, message, stack } = pino.stdSerializers.err(value);
  const { code } = value as { readonly code?: unknown };
  return {
    type: visibleText(String(type)),
    message: visibleText(withDiskFull(value, String(message))),
    ...((typeof code === 'string' || typeof code === 'number') && {
      code: typeof code === 'string' ? visibleText(code) : code,
    }),
    ...(typeof stack === 'string' && { stack: visibleText(stack, STACK_MAX) }),
    ...(value instanceof AggregateError && { errors: partsOf(value) }),
  };
}

const tell = (value: unknown): string =>
  typeof value === 'object' && value !== null ? `no error: ${typeof value}` : String(value);

const partsOf = ({ errors }: AggregateError): ErrorFields[] =>
  errors.slice(0, ERRORS_MAX).map((part: unknown) => {
    const fields = errorFields(part);
    return typeof fields === 'string' ? { type: 'none', message: fields } : fields;
  });
