import { FleetError } from '../../domain/errors.ts';

interface ProblemKind {
  readonly status: number;
  /** Equal for all problems of the kind. */
  readonly title: string;
  /** For the page behind `type`: when the problem happens, and what to do. */
  readonly about: string;
}

/** The closed list of problems that a caller of the console can receive. */
export const PROBLEMS = {
  malformed: {
    status: 400,
    title: 'The request is not valid',
    about:
      '`errors` lists each invalid part with its fault. Correct the request: the same request would fail again.',
  },
  'not-signed-in': {
    status: 401,
    title: 'The caller is not known',
    about: 'The request has no token, certificate or login; or it is wrong, expired or revoked.',
  },
  'not-allowed': {
    status: 403,
    title: 'The caller may not do this',
    about: "The caller's role or list of providers does not allow it. `whoami` shows both.",
  },
  'not-found': {
    status: 404,
    title: 'Not found',
    about: 'Nothing has this name now. A slot may come back with a later listing.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not for this resource',
    about: 'The header `allow` lists the allowed methods.',
  },
  'still-filing': {
    status: 409,
    title: 'A request with this key is being submitted',
    about:
      'An earlier call with the same idempotency key is still running. Try again a little later.',
  },
  changed: {
    status: 412,
    title: 'The machine changed meanwhile',
    about: 'The sent ETag is outdated, so nothing was done. `current` is the current state.',
  },
  'too-large': {
    status: 413,
    title: 'The request is too large',
    about: 'The maximum size of a body is 64 KiB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'The body is not JSON',
    about: 'Send `content-type: application/json`.',
  },
  'wrong-host': {
    status: 421,
    title: 'The console does not answer under this name',
    about: 'Use the address of `console.listen` or a name in `console.allowedHosts`.',
  },
  'key-reused': {
    status: 422,
    title: 'The key was used for another request',
    about: 'An idempotency key stands for one request. Choose a new key for a new request.',
  },
  refused: {
    status: 422,
    title: 'The request is refused in the current situation',
    about: '`detail` names the obstacle and what would end it. Nothing was submitted.',
  },
  limited: {
    status: 429,
    title: 'Too many requests',
    about: 'The header `retry-after` says how many seconds to wait.',
  },
  internal: {
    status: 500,
    title: 'The console failed',
    about: 'The log of the daemon has the details. Another attempt may help.',
  },
  unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    about:
      'The database cannot be reached, or the daemon is stopping. Try again after the time in the header `retry-after`, if present.',
  },
} as const satisfies Readonly<Record<string, ProblemKind>>;

export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as [ProblemCode, ...ProblemCode[]];

/** A fault in a part of a request, and its place (`#/query/limit`, `#/body/slots/0`). */
export interface Fault {
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemOptions extends ErrorOptions {
  readonly errors?: readonly Fault[];
  /** Further members of the answer, such as `current`. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Seconds; goes out as `retry-after`. */
  readonly retryAfterSeconds?: number;
}

/** A failure answered to a caller of the API. Thrown by a route, sent by RFC 9457. */
export class Problem extends FleetError {
  readonly code: ProblemCode;
  readonly retryable: boolean;
  readonly options: ProblemOptions;
  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    super(detail, options);
    this.code = code;
    this.retryable = code === 'limited' || code === 'unavailable' || code === 'still-filing';
    this.options = options;
  }
  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** A problem with one part of a query. */
export const malformed = (name: string, detail: string): Problem =>
  new Problem('malformed', `${name}: ${detail}`, {
    errors: [{ pointer: `#/query/${name}`, detail }],
  });

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** The body of the answer. @param instance requested path, without its query. */
export const problemBody = ({ code, message, options }: Problem, instance: string) => ({
  type: `/problems/${code}`,
  title: PROBLEMS[code].title,
  status: PROBLEMS[code].status,
  detail: message,
  instance,
  code,
  ...(options.errors && { errors: options.errors }),
  ...options.members,
});
