import http, { type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { Clock } from '../clock/port.ts';

/** An answer may be this long; more is no answer of an API. */
export const REPLY_BYTES_MAX = 32 * 1024 * 1024;

export interface HttpRequest {
  readonly method: string;
  /** Below the base URL, with a leading slash. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
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

/** Plain exchanges over kept connections below one base URL. */
export function createHttp(baseUrl: string, deps: { clock: Clock }): Http {
  const base = new URL(baseUrl);
  const library = base.protocol === 'https:' ? https : http;
  const kept = new library.Agent({ keepAlive: true });
  const fresh = new library.Agent({ keepAlive: false });

  function open(request: HttpRequest, sizeBytes: number): ClientRequest {
    const length = request.body === undefined ? {} : { 'Content-Length': sizeBytes };
    try {
      return library.request(urlOf(base, request), {
        method: request.method,
        headers: { ...request.headers, ...length },
        agent: request.freshConnection ? fresh : kept,
      });
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      throw new HttpFailure('unsendable', false, `the request cannot be sent: ${code}`, cause);
    }
  }

  return {
    async exchange(request, signal) {
      const payload = request.body === undefined ? '' : JSON.stringify(request.body);
      const req = open(request, Buffer.byteLength(payload));
      const reply = follow(req, request, signal, deps.clock);
      req.end(payload);
      return reply;
    },
    close() {
      kept.destroy();
      fresh.destroy();
    },
  };
}

function urlOf(base: URL, { path, query }: HttpRequest): URL {
  const url = new URL(base);
  url.pathname = base.pathname.replace(/\/+$/, '') + path;
  url.search = new URLSearchParams(query).toString();
  return url;
}

function follow(
  req: ClientRequest,
  { connectTimeoutMs, timeoutMs }: HttpRequest,
  signal: AbortSignal,
  clock: Clock,
): Promise<HttpReply> {
  return new Promise((resolve, reject) => {
    let connected = false;
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
      reject(new HttpFailure(reason, connected, message, cause));
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
      const chunks: Buffer[] = [];
      let sizeBytes = 0;
      res.on('data', (chunk: Buffer) => {
        sizeBytes += chunk.length;
        if (sizeBytes > REPLY_BYTES_MAX) give('oversize', 'the reply is larger than 32 MiB');
        else chunks.push(chunk);
      });
      res.on('error', (cause) => give('transport', 'the reply broke off', bare(cause)));
      res.on('end', () => {
        settle();
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: res.statusCode ?? 0, headers: res.headers, text });
      });
    });
    if (signal.aborted) onAbort();
  });
}

/** A kept socket is connected from the start; a new one after TCP, or TLS where that is spoken. */
function whenConnected(req: ClientRequest, then: () => void): void {
  req.once('socket', (socket) => {
    if (req.reusedSocket) then();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', then);
  });
}

/** A parser's error holds the bytes that it could not read, and they may quote a secret. */
function bare(error: NodeJS.ErrnoException): Error {
  const { code = '' } = error;
  return code.startsWith('HPE_') ? Object.assign(new Error(code), { code }) : error;
}

const isCertificateError = ({ code }: NodeJS.ErrnoException): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ALTNAME/.test(code);
