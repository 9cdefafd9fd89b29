import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { isLoopbackHost } from '../../adapters/driver-kit/errors.ts';
import { systemClock } from '../../adapters/clock/system-clock.ts';
import { withTimeLimit } from '../../adapters/clock/port.ts';
import { explain, UsageError, Malformed } from '../../domain/errors.ts';
import { NoConsole, Refused, type ProblemBody } from './failures.ts';

/** A request to the console's API. */
export interface Question {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Begins with `/api/v1`. */
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

/** A server-sent event of the console. */
export interface StreamMessage {
  readonly id: string | null;
  readonly event: string;
  readonly data: string;
}

/** Sends requests to the API of a console. */
export interface Transport {
  /** Address of the console, for people. */
  readonly where: string;
  /** Returns every reply, whatever its status. @throws {NoConsole} nothing answers there. */
  send(question: Question): Promise<Reply>;
  /**
   * Reads server-sent events until the stream ends or the connection breaks.
   * @throws {NoConsole} {Refused}
   */
  stream(question: Question): AsyncIterable<StreamMessage>;
  /** Asks the console of another daemon with the same token. @throws {UsageError} the token would be sent in clear. */
  elsewhere(url: string): Transport;
}

export interface HttpTransportOptions {
  /** Address of the console, such as `https://fleet.example.org/`. */
  readonly url: string;
  /** Bearer token; null: send none. */
  readonly token: string | null;
  readonly version: string;
  /** Tells people what to do if nothing answers. */
  readonly advice: string;
  /** The only trusted certificate authorities, PEM; absent: those of Node. */
  readonly ca?: string | undefined;
  /** The token may travel over plain HTTP to another machine. */
  readonly allowInsecureHttp?: boolean;
  /** How long a stream may be silent; 30 s when absent. */
  readonly quietMs?: number;
}

/** Limit for an answer, beyond the time that the request itself waits. */
const ANSWER_MS = 30_000;
const CONNECT_MS = 10_000;
/** A stream has a tick every 10 s. A stream that is silent for longer is dead. */
const QUIET_MS = 30_000;

/** @throws {UsageError} the token would be sent in clear to another machine without --allow-insecure-http. */
export function requireSecret({
  url,
  allowInsecureHttp = false,
}: Pick<HttpTransportOptions, 'url' | 'allowInsecureHttp'>): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || allowInsecureHttp || isLoopbackHost(hostname)) return;
  throw new UsageError(
    `the token would be sent unencrypted to ${url}; give its address with https://, ` +
      'or --allow-insecure-http if nobody can read the network traffic',
  );
}

/**
 * Sends requests to the console's API over HTTP.
 * @throws {UsageError} as {@link requireSecret}.
 */
export function createHttpTransport(options: HttpTransportOptions): Transport {
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
    elsewhere: (url) => createHttpTransport({ ...options, url }),
  };
}

/** Ends a silent connection as if it had broken. */
class Quiet extends Error {
  readonly code = 'ECONNRESET';
}

/** @throws {NoConsole} the work takes longer than the limit. */
async function within<T>(
  limitMs: number,
  options: HttpTransportOptions,
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

function ask(options: HttpTransportOptions, question: Question): Promise<IncomingMessage> {
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
  'no known authority signed its certificate; give the authority with "shepherd login URL --ca FILE"';

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'its name cannot be resolved',
  ECONNRESET: 'it closed the connection',
  ...Object.fromEntries(
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    ].map((code) => [code, UNTRUSTED]),
  ),
};

const noConsole = ({ url, advice }: HttpTransportOptions, cause: unknown, wasSent = true) => {
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
      // The other half of the line end may still come.
      const held = text.endsWith('\r') ? '\r' : '';
      const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
      rest = (lines.pop() ?? '') + held;
      for (const line of lines) {
        const message = take(line);
        if (message) yield message;
      }
    }
  } catch (error) {
    // A broken connection ends the stream: an incomplete message was never sent whole.
    if (!isBreak(error)) throw error;
  }
}

const isBreak = (error: unknown): boolean =>
  ['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(
    String((error as NodeJS.ErrnoException).code),
  );

export const API = '/api/v1';

type Query = Question['query'];

/** Asks the API, and throws if the answer is no success. */
export interface Client {
  readonly transport: Transport;
  /** @throws {Refused} {NoConsole} */
  get<Result>(path: string, query?: Query): Promise<Result>;
  /** As {@link get}, but null if the thing does not exist. */
  find<Result>(path: string, query?: Query): Promise<Result | null>;
  send<Result>(
    method: Question['method'],
    path: string,
    more: Pick<Question, 'body' | 'headers' | 'query'>,
  ): Promise<Result>;
}

/** @param onReply sees every reply. */
export function createClient(
  transport: Transport,
  signal: AbortSignal,
  onReply: (reply: Reply) => void = () => undefined,
): Client {
  const ask = async (question: Omit<Question, 'signal'>): Promise<unknown> => {
    const path = API + question.path;
    const reply = await transport.send({ ...question, path, signal });
    onReply(reply);
    requireSuccess(reply, { ...question, path });
    return reply.text === '' ? null : parsed(reply.text, transport);
  };
  const get = <Result>(path: string, query: Query = {}) =>
    ask({ method: 'GET', path, query }) as Promise<Result>;
  return {
    ...{ transport, get },
    async find<Result>(path: string, query: Query = {}) {
      try {
        return await get<Result>(path, query);
      } catch (error) {
        if (error instanceof Refused && error.code === 'not-found') return null;
        throw error;
      }
    },
    send: <Result>(method: Question['method'], path: string, more: object) =>
      ask({ method, path, ...more }) as Promise<Result>,
  };
}

/** @throws {Malformed} the answer is not JSON: a proxy may have answered with a page. */
export function parsed(text: string, { where }: Transport): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Malformed(
      `${where} does not answer in JSON, so it is not a console of Shepherd; check the address`,
      { cause },
    );
  }
}

/** Looks at replies, and says once if the console has another version. */
export function watchVersion(version: string, say: (text: string) => void) {
  let [isTold, isOurs] = [false, false];
  return {
    see({ headers }: Reply): void {
      const theirs = headers[VERSION_HEADER];
      isOurs = theirs === version;
      if (isTold || isOurs || theirs === undefined) return;
      isTold = true;
      say(`the console has version ${theirs}, and this command has version ${version}`);
    },
    /** The last reply came from a console of the same version. */
    isOurs: () => isOurs,
  };
}
const VERSION_HEADER = 'shepherd-version';

const LOG_IN = 'log in with "shepherd login URL"';

const ADVICE: Readonly<Record<string, string>> = {
  'not-signed-in': LOG_IN,
  'not-allowed': '"shepherd whoami" shows your role',
};

/** A gateway answers with these if the console behind it does not answer. */
const GATEWAY: ReadonlySet<number> = new Set([502, 503, 504]);

/** @throws {NoConsole} {Refused} the reply is no success. @throws {Malformed} the reply is not from a console. */
export function requireSuccess(reply: Reply, { method, path }: Pick<Question, 'method' | 'path'>) {
  if (reply.status >= 200 && reply.status < 300) return;
  const problem = problemIn(reply);
  if (problem === null && GATEWAY.has(reply.status)) {
    const what = `${method} ${path} got status ${reply.status}`;
    throw new NoConsole(
      `${what} from a gateway: the console behind it does not answer; try again later`,
    );
  }
  if (problem === null) {
    throw new Malformed(
      `${method} ${path} got status ${reply.status} from a server that is no console of Shepherd; check the address`,
    );
  }
  if (problem.code === 'not-found' && problem.detail === NO_PAGE) {
    const theirs = reply.headers[VERSION_HEADER] ?? 'another version';
    const detail = `this console (${theirs}) does not know ${method} ${path}`;
    throw new Refused({ ...problem, detail }, 'upgrade its daemon');
  }
  throw new Refused(problem, ADVICE[problem.code] ?? null);
}

/** The words by which a console says that it has no such route. */
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
