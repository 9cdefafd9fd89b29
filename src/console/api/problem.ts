import { FleetError } from '../../domain/errors.ts';

interface Kind {
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
    title: 'The request is not of the agreed form',
    about:
      '`errors` names each part that is wrong, and how. Mend the request; sent again as it is, it fails again.',
  },
  'not-signed-in': {
    status: 401,
    title: 'The caller is not known',
    about:
      'No token, certificate or login came with the request, or one that is wrong, expired or revoked.',
  },
  'not-allowed': {
    status: 403,
    title: 'The caller may not do this',
    about:
      'The role of the caller, or the providers it is limited to, do not allow it. `whoami` tells both.',
  },
  'not-found': {
    status: 404,
    title: 'There is no such thing',
    about:
      'Nothing has this name now. It may have had it before, and a slot may come back with a later listing.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'The method is not for this resource',
    about: 'The header `allow` lists the methods that are.',
  },
  'still-filing': {
    status: 409,
    title: 'A request with this key is being filed',
    about:
      'An earlier call with the same idempotency key has not been answered yet. Ask again a little later.',
  },
  changed: {
    status: 412,
    title: 'It changed meanwhile',
    about:
      'What the caller had seen is not so any more; nothing was done. `current` is how it is now.',
  },
  'too-large': { status: 413, title: 'The request is too large', about: 'A body may have 64 KiB.' },
  'unsupported-media-type': {
    status: 415,
    title: 'The body is not JSON',
    about: 'Send `content-type: application/json`.',
  },
  'wrong-host': {
    status: 421,
    title: 'The console does not answer under this name',
    about:
      '`console.allowedHosts` lists the names that it answers to, beside the address it listens on.',
  },
  'key-reused': {
    status: 422,
    title: 'The key was used for something else',
    about: 'An idempotency key stands for one request. Choose a new key for a new request.',
  },
  refused: {
    status: 422,
    title: 'It cannot be asked for as things are',
    about: '`detail` names the fact that is in the way, and what would end it. Nothing was filed.',
  },
  limited: {
    status: 429,
    title: 'Too many requests',
    about: 'The header `retry-after` says how many seconds to wait.',
  },
  internal: {
    status: 500,
    title: 'The console failed',
    about: 'The log of the daemon has the details. Asking again may help.',
  },
  unavailable: {
    status: 503,
    title: 'It cannot be done for now',
    about:
      'The database is away, or the daemon is stopping. Ask again; the header `retry-after` says when, if that is known.',
  },
} as const satisfies Readonly<Record<string, Kind>>;

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
