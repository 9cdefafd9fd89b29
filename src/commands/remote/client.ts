import { Malformed } from '../../domain/errors.ts';
import type { Taken } from './described.ts';
import type { Door, Question, Reply } from './door.ts';
import { NoConsole, Refused, type ProblemBody } from './failures.ts';

export const API = '/api/v1';

type Query = Question['query'];

/** What commands ask of the API, whichever door it is behind. */
export interface Client {
  readonly door: Door;
  /** The last answers, none of which was looked at beyond that it is JSON. */
  readonly taken: readonly Taken[];
  /** @throws {Refused} {NoConsole} */
  get<Answer>(path: string, query?: Query): Promise<Answer>;
  /** As {@link get}; null: there is no such thing. */
  find<Answer>(path: string, query?: Query): Promise<Answer | null>;
  send<Answer>(
    method: Question['method'],
    path: string,
    more: Pick<Question, 'body' | 'headers' | 'query'>,
  ): Promise<Answer>;
}

const TAKEN_MAX = 20;

export function createClient(door: Door, signal: AbortSignal, warn: Warn): Client {
  const taken: Taken[] = [];
  const ask = async (question: Omit<Question, 'signal'>): Promise<unknown> => {
    const path = API + question.path;
    const reply = await door.send({ ...question, path, signal });
    warn(reply);
    requireSuccess(reply, { ...question, path });
    const answer = reply.text === '' ? null : parsed(reply.text, door);
    taken.push({ method: question.method, path, status: reply.status, answer });
    if (taken.length > TAKEN_MAX) taken.shift();
    return answer;
  };
  const get = <Answer>(path: string, query: Query = {}) =>
    ask({ method: 'GET', path, query }) as Promise<Answer>;
  return {
    ...{ door, taken, get },
    async find<Answer>(path: string, query: Query = {}) {
      try {
        return await get<Answer>(path, query);
      } catch (error) {
        if (error instanceof Refused && error.code === 'not-found') return null;
        throw error;
      }
    },
    send: <Answer>(method: Question['method'], path: string, more: object) =>
      ask({ method, path, ...more }) as Promise<Answer>,
  };
}

/** @throws {Malformed} somebody else answers, such as a proxy with a page of its own. */
function parsed(text: string, { where }: Door): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Malformed(`${where} does not answer in JSON: it is no console of Shepherd`, {
      cause,
    });
  }
}

/** Sees every reply, so that a console of another version is told of. */
export type Warn = (reply: Reply) => void;

/** Says once that the console is of another version. */
export function versionWarning(version: string, say: (text: string) => void): Warn {
  let told = false;
  return ({ headers }) => {
    const theirs = headers[VERSION_HEADER];
    if (told || theirs === undefined || theirs === version) return;
    told = true;
    say(`the console is of version ${theirs}, and this command of ${version}`);
  };
}
const VERSION_HEADER = 'shepherd-version';

const LOG_IN = '"shepherd login URL" logs in, "shepherd whoami" tells as whom';

const ADVICE: Readonly<Record<string, string>> = {
  'not-signed-in': LOG_IN,
  'not-allowed': '"shepherd whoami" tells what you may',
};

/** What stands before a console says so when nothing answers behind it. */
const GATEWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** @throws {NoConsole} {Refused} it is no success. @throws {Malformed} nothing that we know answered. */
export function requireSuccess(reply: Reply, { method, path }: Pick<Question, 'method' | 'path'>) {
  if (reply.status >= 200 && reply.status < 300) return;
  const problem = problemIn(reply);
  if (problem === null && GATEWAY.has(reply.status)) {
    const what = `${method} ${path} is answered with ${reply.status}`;
    throw new NoConsole(`${what} by a gateway, and not by the console behind it`);
  }
  if (problem === null) {
    throw new Malformed(`${method} ${path} is answered with ${reply.status} by what is no console`);
  }
  if (problem.code === 'not-found' && problem.detail === NO_PAGE) {
    const theirs = reply.headers[VERSION_HEADER] ?? 'another version';
    const detail = `this console (${theirs}) does not know ${method} ${path}`;
    throw new Refused({ ...problem, detail }, 'upgrade it');
  }
  throw new Refused(problem, ADVICE[problem.code] ?? null);
}

/** As the console says that it has no such route. */
const NO_PAGE = 'There is no such page';

function problemIn({ text }: Reply): ProblemBody | null {
  try {
    const found = JSON.parse(text) as Partial<ProblemBody>;
    return typeof found.code === 'string' && typeof found.detail === 'string'
      ? (found as ProblemBody)
      : null;
  } catch {
    return null;
  }
}
