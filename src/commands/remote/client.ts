import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { isLoopbackHost } from '../../adapters/driver-kit/errors.ts';
import { systemClock } from '../../adapters/clock/system-clock.ts';
import { withTimeLimit } from '../../adapters/clock/port.ts';
import { explain, UsageError, Malformed } from '../../domain/errors.ts';
import { NoConsole, Refused, type ProblemBody } from './failures.ts';

/** What is asked of the console's API. */
export interface Question {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `/api/v1` before it. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal: AbortSignal;
}
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly text: string;
}

/** A message of the console's stream. */
export interface StreamMessage {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** The way to the API of a console. */
export interface Door {
  /** For people: the console's address. */
  readonly where: string;
  /** Answers whatever the status. @throws {NoConsole} nothing answers there. */
  send(question: Question): Promise<Reply>;
  /**
   * Reads server-sent events until they end; a break is an end as well.
   * @throws {NoConsole} {Refused}
   */
  stream(question: Question): AsyncIterable<StreamMessage>;
  /** The same person at the console of another daemon. @throws {UsageError} a token would go in clear. */
  elsewhere(url: string): Door;
}

export interface HttpDoorOptions {
  /** Of the console, such as `https://fleet.example.org/`. */
  readonly url: string;
  /** Shown as a bearer token; null: nothing is shown. */
  readonly token: string | null;
  readonly version: string;
  /** For people: what they may do when nothing answers. */
  readonly advice: string;
  /** The authorities that alone may have signed its certificate, PEM; absent: those of Node. */
  readonly ca?: string | undefined;
  /** The token may go over plain http to another machine. */
  readonly allowInsecureHttp?: boolean;
  /** How long a stream may be silent; 30 s when absent. */
  readonly quietMs?: number;
}

/** Beyond what a request itself may wait for. */
const ANSWER_MS = 30_000;
const CONNECT_MS = 10_000;
/** A stream has a tick every 10 s; one that is silent for longer is dead. */
const QUIET_MS = 30_000;

/** @throws {UsageError} a token would go in clear to another machine, and nobody said that it may. */
export function requireSecret({
  url,
  allowInsecureHttp = false,
}: Pick<HttpDoorOptions, 'url' | 'allowInsecureHttp'>): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || allowInsecureHttp || isLoopbackHost(hostname)) return;
  throw new UsageError(
    `a token would go in clear to ${url}; give its address with https://, ` +
      'or say --allow-insecure-http where nobody can listen on the way',
  );
}

/**
 * The door of the console's API.
 * @throws {UsageError} as {@link requireSecret}.
 */
export function openHttpDoor(options: HttpDoorOptions): Door {
  if (options.token !== null) requireSecret(options);
  return {
    where: options.url,
    send(question) {
      const [, seconds = '0'] = /wait=(\d+)/.exec(question.headers?.['prefer'] ?? '') ?? [];
      const limitMs = ANSWER_MS + Number(seconds) * 1_000;
      return within(limitMs, options, question, async (asked) =>
        replyOf(await ask(options, asked)),
      );
    },
    async *stream(question) {
      const headers = { accept: 'text/event-stream', ...question.headers };
      const { quietMs = QUIET_MS } = options;
      const answer = await within(quietMs, options, { ...question, headers }, (asked) =>
        ask(options, asked),
      );
      answer.setTimeout(quietMs, () => answer.destroy(new Quiet()));
      if (answer.statusCode !== 200) requireSuccess(await replyOf(answer), question);
      yield* eventsIn(answer);
    },
    elsewhere: (url) => openHttpDoor({ ...options, url }),
  };
}

/** A connection that died without a word: it is ended, as if it had broken. */
class Quiet extends Error {
  readonly code = 'ECONNRESET';
}

/** @throws {NoConsole} it takes longer. */
async function within<T>(
  limitMs: number,
  options: HttpDoorOptions,
  question: Question,
  work: (question: Question) => Promise<T>,
): Promise<T> {
  try {
    const limit = { ms: limitMs, signal: question.signal };
    return await withTimeLimit(systemClock, limit, (signal) => work({ ...question, signal }));
  } catch (error) {
    if (question.signal.aborted || error instanceof NoConsole) throw error;
    throw noConsole(options, error);
  }
}

async function replyOf(answer: IncomingMessage): Promise<Reply> {
  const headers = answer.headers as Reply['headers'];
  return { status: answer.statusCode ?? 0, headers, text: await text(answer) };
}

function ask(options: HttpDoorOptions, question: Question): Promise<IncomingMessage> {
  const { url, token, version, ca } = options;
  const { method, path, query = {}, headers = {}, body, signal } = question;
  const target = new URL(url.replace(/\/*$/, '') + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) target.searchParams.set(name, String(value));
  }
  const payload = body === undefined ? null : JSON.stringify(body);
  const request = target.protocol === 'https:' ? secureRequest : plainRequest;
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const sent = request(
      target,
      {
        ...{ method, signal },
        ...(ca !== undefined && { ca }),
        headers: {
          'user-agent': `shepherd/${version}`,
          accept: 'application/json',
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(payload !== null && { 'content-type': 'application/json' }),
          ...headers,
        },
      },
      resolve,
    );
    sent.once('socket', (socket) => {
      isConnected = !socket.connecting;
      if (isConnected) return;
      const giveUp = () => sent.destroy(new Error('no connection in 10 s'));
      socket.setTimeout(CONNECT_MS, giveUp);
      socket.once('connect', () => {
        isConnected = true;
        socket.setTimeout(0, giveUp);
      });
    });
    sent.once('error', (error) => {
      reject(question.signal.aborted ? error : noConsole(options, error, isConnected));
    });
    sent.end(payload ?? undefined);
  });
}

const UNTRUSTED =
  'no authority known here signed its certificate; "shepherd login URL --ca FILE" makes one known';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name is not known',
  ECONNRESET: 'it hung up',
  ...Object.fromEntries(
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [code, UNTRUSTED]),
  ),
};

const noConsole = ({ url, advice }: HttpDoorOptions, cause: unknown, wasSent = true) => {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const why = REASONS[code] ?? explain(cause);
  return new NoConsole(`no console answers at ${url} (${why}); ${advice}`, wasSent);
};

/** Messages of server-sent events (WHATWG HTML, 9.2.6), until the stream ends or breaks. */
export async function* eventsIn(source: AsyncIterable<Buffer>): AsyncIterable<StreamMessage> {
  const decoder = new TextDecoder();
  let rest = '';
  let id: string | null = null;
  let event = 'message';
  let data: string[] = [];
  const take = (line: string): StreamMessage | null => {
    if (line === '') {
      const message = data.length === 0 ? null : { id, event, data: data.join('\n') };
      event = 'message';
      data = [];
      return message;
    }
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    else if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    return null;
  };
  try {
    for await (const chunk of source) {
      const text = rest + decoder.decode(chunk, { stream: true });
      // Its other half may still come.
      const held = text.endsWith('\r') ? '\r' : '';
      const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? '') + held;
      for (const line of lines) {
        const message = take(line);
        if (message) yield message;
      }
    }
  } catch (error) {
    // A connection that broke has ended; what cannot be read was never sent whole.
    if (!isBreak(error)) throw error;
  }
}

const isBreak = (error: unknown): boolean =>
  ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(
    String((error as NodeJS.ErrnoException).code),
  );

export const API = '/api/v1';

type Query = Question['query'];

/** What commands ask of the API, whichever door it is behind. */
export interface Client {
  readonly door: Door;
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

/** @param onReply sees every reply. */
export function createClient(
  door: Door,
  signal: AbortSignal,
  onReply: (reply: Reply) => void = () => undefined,
): Client {
  const ask = async (question: Omit<Question, 'signal'>): Promise<unknown> => {
    const path = API + question.path;
    const reply = await door.send({ ...question, path, signal });
    onReply(reply);
    requireSuccess(reply, { ...question, path });
    return reply.text === '' ? null : parsed(reply.text, door);
  };
  const get = <Answer>(path: string, query: Query = {}) =>
    ask({ method: 'GET', path, query }) as Promise<Answer>;
  return {
    ...{ door, get },
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

/** Looks at replies, and says once that the console is of another version. */
export function watchVersion(version: string, say: (text: string) => void) {
  let [isTold, isOurs] = [false, false];
  return {
    see({ headers }: Reply): void {
      const theirs = headers[VERSION_HEADER];
      isOurs = theirs === version;
      if (isTold || isOurs || theirs === undefined) return;
      isTold = true;
      say(`the console is of version ${theirs}, and this command of ${version}`);
    },
    /** The last reply came from a console of this very version. */
    isOurs: () => isOurs,
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
