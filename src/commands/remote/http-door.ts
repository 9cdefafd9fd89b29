import { request as plainRequest, type IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { systemClock } from '../../adapters/clock/system-clock.ts';
import { withTimeLimit } from '../../adapters/clock/port.ts';
import { isLoopbackHost } from '../../adapters/driver-kit/errors.ts';
import { explain, UsageError } from '../../domain/errors.ts';
import type { Door, Question, Reply } from './door.ts';
import { eventsIn } from './event-stream.ts';
import { NoConsole } from './failures.ts';
import { requireSuccess } from './client.ts';

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
export function requireSecret({ url, allowInsecureHttp = false }: InClear): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || allowInsecureHttp || isLoopbackHost(hostname)) return;
  throw new UsageError(
    `a token would go in clear to ${url}; give its address with https://, ` +
      'or say --allow-insecure-http where nobody can listen on the way',
  );
}
type InClear = Pick<HttpDoorOptions, 'url' | 'allowInsecureHttp'>;

/**
 * The door of the console's API.
 * @throws {UsageError} as {@link requireSecret}.
 */
export function openHttpDoor(options: HttpDoorOptions): Door {
  if (options.token !== null) requireSecret(options);
  return {
    kind: 'console',
    where: options.url,
    async send(question) {
      const [, seconds = '0'] = /wait=(\d+)/.exec(question.headers?.['prefer'] ?? '') ?? [];
      const limitMs = ANSWER_MS + Number(seconds) * 1_000;
      try {
        const limit = { ms: limitMs, signal: question.signal };
        return await withTimeLimit(systemClock, limit, async (signal) =>
          replyOf(await ask(options, { ...question, signal })),
        );
      } catch (error) {
        if (question.signal.aborted || error instanceof NoConsole) throw error;
        throw noConsole(options, error);
      }
    },
    async *stream(question) {
      const headers = { accept: 'text/event-stream', ...question.headers };
      const answer = await begun(options, { ...question, headers });
      answer.setTimeout(options.quietMs ?? QUIET_MS, () => answer.destroy(new Quiet()));
      if (answer.statusCode !== 200) requireSuccess(await replyOf(answer), question);
      yield* eventsIn(answer);
    },
    elsewhere: (url) => openHttpDoor({ ...options, url }),
    close: async () => undefined,
  };
}

/** A connection that died without a word: it is ended, as if it had broken. */
class Quiet extends Error {
  readonly code = 'ECONNRESET';
}

/** An answer that has begun, of which more may come for as long as it likes. */
async function begun(options: HttpDoorOptions, question: Question): Promise<IncomingMessage> {
  const limitMs = options.quietMs ?? QUIET_MS;
  try {
    const limit = { ms: limitMs, signal: question.signal };
    return await withTimeLimit(systemClock, limit, (signal) =>
      ask(options, { ...question, signal }),
    );
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
