import http, { type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { Clock } from '../clock/port.ts';
import type { Network } from '../network/port.ts';
import { createJsonLimits } from './json-limits.ts';
import { isTrusted, type Trust, trustingAgent } from './trust.ts';

/** An answer may be this long; more is no answer of an API. */
export const REPLY_BYTES_MAX = 32 * 1024 * 1024;

export interface HttpRequest {
  readonly method: string;
  /** Below the base URL, with a leading slash. */
  readonly path: string;
  /** Parameters for where a key is there more than once. */
  readonly query: Readonly<Record<string, string>> | URLSearchParams;
  /** Null: none. */
  readonly payload: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /**
   * Use a new connection: a kept one may be closing just now, which would look like a lost reply.
   */
  readonly freshConnection: boolean;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** No complete reply came. `sent` is false when nothing of the request can have left. */
export class HttpFailure extends Error {
  readonly reason:
    | 'transport'
    | 'timeout'
    | 'certificate'
    /** Longer, or of more values, than any reply of an API. */
    | 'oversize'
    | 'aborted'
    /** Headers or address are such that no request can be made of them. */
    | 'unsendable';
  readonly sent: boolean;
  constructor(reason: HttpFailure['reason'], sent: boolean, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.sent = sent;
  }
}

export interface Http {
  /** One exchange. Redirects are replies like any other. @throws {HttpFailure} */
  exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpReply>;
  /** Closes all connections. */
  close(): void;
}

/** How one server is spoken to. */
export interface HttpTerms {
  readonly baseUrl: string;
  /** Of TLS; the system's authorities if absent. */
  readonly trust?: Trust | undefined;
  /** Each request has a connection of its own, and says so. */
  readonly closesConnections?: boolean | undefined;
  /** A longer reply is none; `REPLY_BYTES_MAX` if absent. */
  readonly replyBytesMax?: number | undefined;
  /**
   * Status and headers are the whole reply, and its text is empty. The body is let pass for so long, and up
   * to `replyBytesMax`, so that the connection can be kept; then the connection is dropped.
   */
  readonly passesBodiesMs?: number | undefined;
}

export interface HttpDeps {
  readonly clock: Clock;
  /** TCP and TLS if absent. */
  readonly network?: Network | undefined;
}

/** Plain exchanges below one base URL, over kept connections unless the terms say otherwise. */
export function createHttp(terms: HttpTerms, deps: HttpDeps): Http {
  const { trust, closesConnections = false, replyBytesMax = REPLY_BYTES_MAX } = terms;
  const { passesBodiesMs } = terms;
  const { network } = deps;
  const base = new URL(terms.baseUrl);
  const isSecure = base.protocol === 'https:' && network === undefined;
  if (network) base.protocol = 'http:';
  const library = isSecure ? https : http;
  const agentFor = (keepAlive: boolean) => {
    if (network) return agentOver(network);
    return isSecure && trust
      ? trustingAgent(trust, { keepAlive })
      : new library.Agent({ keepAlive });
  };
  const kept = agentFor(!closesConnections);
  const fresh = agentFor(false);

  function open(request: HttpRequest, givenUp: AbortSignal): ClientRequest {
    const { payload } = request;
    const length = payload === null ? {} : { 'Content-Length': Buffer.byteLength(payload) };
    try {
      return library.request(urlOf(base, request), {
        method: request.method,
        headers: { ...request.headers, ...length },
        agent: request.freshConnection ? fresh : kept,
        ...{ givenUp },
      });
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new HttpFailure('unsendable', false, `the request cannot be sent: ${code}`, cause);
    }
  }

  return {
    async exchange(request, signal) {
      const givenUp = new AbortController();
      const req = open(request, givenUp.signal);
      const reply = follow(req, { ...request, replyBytesMax, passesBodiesMs }, signal, deps.clock);
      req.end(request.payload ?? '');
      // A request without a socket yet cannot end its connecting by itself.
      return reply.catch((error: unknown) => {
        givenUp.abort();
        throw error;
      });
    },
    close() {
      kept.destroy();
      fresh.destroy();
    },
  };
}

/** Each request has a connection of its own. */
function agentOver(network: Network): http.Agent {
  const agent = new http.Agent();
  agent.createConnection = ({ host, port }) =>
    network.connect({ host: host ?? '', port: Number(port) });
  return agent;
}

function urlOf(base: URL, { path, query }: HttpRequest): URL {
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/+$/, '') + path;
  url.search = new URLSearchParams(query).toString();
  return url;
}

function follow(
  req: ClientRequest,
  limits: Pick<HttpRequest, 'connectTimeoutMs' | 'timeoutMs'> &
    Pick<HttpTerms, 'passesBodiesMs'> & { readonly replyBytesMax: number },
  signal: AbortSignal,
  clock: Clock,
): Promise<HttpReply> {
  const { connectTimeoutMs, timeoutMs, replyBytesMax, passesBodiesMs } = limits;
  return new Promise((resolve, reject) => {
    let connected = false;
    /** Once it is all that is wanted, whatever becomes of the body. */
    let head: HttpReply | null = null;
    const timers = [
      clock.setTimeout(
        () => connected || give('timeout', 'no connection in time'),
        connectTimeoutMs,
      ),
      clock.setTimeout(() => give('timeout', 'no complete reply in time'), timeoutMs),
    ];
    const onAbort = () => give('aborted', 'aborted');
    const settle = () => {
      timers.forEach((timer) => clock.clearTimeout(timer));
      signal.removeEventListener('abort', onAbort);
    };
    function give(reason: HttpFailure['reason'], message: string, cause?: unknown) {
      settle();
      if (head) resolve(head);
      else reject(new HttpFailure(reason, connected, message, cause));
      req.destroy();
    }
    signal.addEventListener('abort', onAbort, { once: true });
    whenConnected(req, () => (connected = true));
    req.on('error', (cause: NodeJS.ErrnoException) =>
      isCertificateError(cause)
        ? give('certificate', `certificate refused: ${cause.code}`, bare(cause))
        : give('transport', `connection failed: ${cause.code ?? 'unknown'}`, bare(cause)),
    );
    req.on('response', (res) => {
      const { statusCode: status = 0, headers } = res;
      if (passesBodiesMs !== undefined) {
        head = { status, headers, text: '' };
        timers.push(clock.setTimeout(() => give('timeout', 'no end of the body'), passesBodiesMs));
      }
      const chunks: Buffer[] = [];
      const limited = createJsonLimits();
      let sizeBytes = 0;
      res.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length;
        const tooLarge = `the reply is larger than ${sizeOf(replyBytesMax)}`;
        if (sizeBytes > replyBytesMax) return give('oversize', tooLarge);
        if (head) return undefined;
        const { kept, wrong } = limited(chunk);
        chunks.push(...kept);
        return wrong === null ? undefined : give('oversize', wrong);
      });
      res.on('error', (cause) => give('transport', 'the reply broke off', bare(cause)));
      res.on('end', () => {
        settle();
        resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    if (signal.aborted) onAbort();
  });
}

/**
 * A kept socket is connected from the start, and so is one whose certificate was judged before; a new one
 * after TCP, or TLS where that is spoken.
 */
function whenConnected(req: ClientRequest, then: () => void): void {
  req.once('socket', (socket) => {
    if (req.reusedSocket || isTrusted(socket)) then();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', then);
  });
}

const sizeOf = (bytes: number): string =>
  bytes < 2 ** 20 ? `${bytes / 2 ** 10} KiB` : `${bytes / 2 ** 20} MiB`;

/** A parser's error holds the bytes that it could not read, and they may quote a secret. */
function bare(error: NodeJS.ErrnoException): Error {
  const { code = '' } = error;
  return code.startsWith('HPE_') ? Object.assign(new Error(code), { code }) : error;
}

const isCertificateError = ({ code }: NodeJS.ErrnoException): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ALTNAME/.test(code);
