import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import type { Log } from '../../adapters/log/port.ts';
import {
  AmbiguousCommit,
  BatchRefused,
  explain,
  FleetError,
  KeyReused,
  NotFound,
  NothingToDo,
  Unreachable,
  UsageError,
} from '../../domain/errors.ts';
import { byReason } from './submit/answers.ts';
import { PROBLEM_MEDIA_TYPE, Problem, problemBody, type Fault } from './problem.ts';

/** Sends a problem; nothing else of the response may have been sent. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, problem: Problem) {
  const [path = ''] = request.url.split('?', 1);
  const { retryAfterSeconds } = problem.options;
  if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds));
  return reply
    .code(problem.status)
    .type(PROBLEM_MEDIA_TYPE)
    .serializer((body: unknown) => JSON.stringify(body))
    .send(problemBody(problem, path));
}

/**
 * Sends failures of the server as problems. Internal errors go to the log; the caller learns only
 * that an error happened.
 */
export function addFailures(app: FastifyInstance, log: Log): void {
  app.setNotFoundHandler((request, reply) =>
    sendProblem(request, reply, new Problem('not-found', 'There is no such page')),
  );
  app.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error, 'idempotency-key' in request.headers);
    if (problem.code === 'internal') {
      // The query may hold secrets, such as the code of a login.
      const [path] = request.url.split('?', 1);
      log.error({ err: explain(error), path }, 'console request failed');
    }
    return sendProblem(request, reply, problem);
  });
}

/** Refusals by Fastify that are the caller's fault. */
const BY_STATUS = {
  400: 'malformed',
  404: 'not-found',
  413: 'too-large',
  415: 'unsupported-media-type',
  429: 'limited',
} as const;
const isKnown = (status: unknown): status is keyof typeof BY_STATUS =>
  typeof status === 'number' && status in BY_STATUS;

/** Retry delay while the database is away, in seconds. */
const RETRY_SECONDS = 5;

/** Turns an error into a problem. `isKeyed`: the request has a key, so it is submitted only once. */
export function problemOf(error: unknown, isKeyed = true): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof FleetError) return problemOfFleet(error, isKeyed);
  if (hasZodFastifySchemaValidationErrors(error)) {
    const part = PART_OF[error.validationContext ?? ''] ?? 'query';
    const errors = error.validation.flatMap((each) => faultsOf(part, each as Issue));
    return new Problem('malformed', errors.map(sentenceOf).join('; '), { errors });
  }
  const { statusCode } = error as { statusCode?: unknown };
  if (isKnown(statusCode)) return new Problem(BY_STATUS[statusCode], explain(error));
  return internal(error);
}

const internal = (cause: unknown): Problem =>
  new Problem('internal', 'Internal error; see the log of the daemon', { cause });

function problemOfFleet(error: FleetError, isKeyed: boolean): Problem {
  const { message } = error;
  if (error instanceof KeyReused) return new Problem('key-reused', message);
  if (error instanceof UsageError) return new Problem('malformed', message);
  if (error instanceof NotFound) return new Problem('not-found', message);
  if (error instanceof BatchRefused) {
    // A request of a batch has the key `<key>/<slot>`.
    const found = error.refusals.map(({ key, cause }) => ({ slot: key, reason: cause.message }));
    return new Problem('refused', message, { members: { refusals: byReason(found) } });
  }
  if (error instanceof NothingToDo) return new Problem('refused', message);
  if (!error.retryable && !(error instanceof AmbiguousCommit)) return internal(error);
  const why = error instanceof Unreachable ? 'The database does not answer' : explain(error);
  const detail = isKeyed ? `${why}; try again: the same key submits nothing twice` : why;
  return new Problem('unavailable', detail, { retryAfterSeconds: RETRY_SECONDS, cause: error });
}

const PART_OF: Readonly<Record<string, string>> = {
  body: 'body',
  params: 'path',
  headers: 'headers',
  querystring: 'query',
};

interface Issue {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: Readonly<Record<string, unknown>>;
}

const sentenceOf = ({ pointer, detail }: Fault): string =>
  `${pointer.split('/').slice(2).join('/') || pointer.slice(2)}: ${detail}`;

/** Faults of one part, without a library's wording and without the sent values. */
function faultsOf(part: string, { keyword, instancePath, message, params }: Issue): Fault[] {
  const pointer = `#/${part}${instancePath === '/' ? '' : instancePath}`;
  if (keyword === 'unrecognized_keys') {
    const keys = params['keys'] as readonly string[];
    return keys.map((key) => ({ pointer: `${pointer}/${key}`, detail: 'unknown field' }));
  }
  return [{ pointer, detail: detailOf(keyword, message, params) }];
}

function detailOf(keyword: string, message: string, params: Issue['params']): string {
  const told = (name: string) => String(params[name]);
  switch (keyword) {
    case 'invalid_type':
      if (message.endsWith('received undefined')) return 'it is missing';
      if (['number', 'int'].includes(told('expected'))) return 'it must be a whole number';
      return message.endsWith('received array') && told('expected') !== 'object'
        ? 'give it only once'
        : `it must be of type ${told('expected')}`;
    case 'too_small':
      return `it must ${extentOf(params)} at least ${told('minimum')}${unitOf(params)}`;
    case 'too_big':
      return `it must ${extentOf(params)} at most ${told('maximum')}${unitOf(params)}`;
    case 'invalid_value': {
      const hint = message.startsWith('Invalid') ? '' : `; ${message}`;
      return `it must be one of ${(params['values'] as readonly unknown[]).join(', ')}${hint}`;
    }
    default:
      return message;
  }
}

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };
const unitOf = ({ origin }: Issue['params']): string => UNITS[String(origin)] ?? '';
const extentOf = (params: Issue['params']): string => (unitOf(params) === '' ? 'be' : 'have');
