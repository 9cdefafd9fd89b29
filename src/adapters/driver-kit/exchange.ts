import type { X509Certificate } from 'node:crypto';
import http, { type ClientRequest, type IncomingHttpHeaders } from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import type { Clock } from '../clock/port.ts';
import type { Network } from '../network/port.ts';

/** Maximum nesting of a reply; APIs and BMCs use a dozen levels. */
const DEPTH_MAX = 100;
/** More than a listing of 20 000 machines in one reply. */
const VALUES_MAX = 500_000;

/** The kept part of a text, and the fault of the whole text; null if there is none. */
interface Limited {
  readonly kept: readonly Buffer[];
  readonly wrong: string | null;
}

/**
 * Checks a JSON text while it arrives, before it is parsed: parsing blocks the event loop, for
 * seconds if a few megabytes are brackets. Values nested too deep become null, so that one
 * malicious entry does not spoil a listing. A text that does not begin with a bracket passes
 * unchanged.
 */
export function createJsonLimits(): (piece: Buffer) => Limited {
  let isBracketed: boolean | null = null;
  let isInString = false;
  let isEscaped = false;
  let depth = 0;
  let values = 0;
  return (piece) => {
    const kept: Buffer[] = [];
    let from = depth > DEPTH_MAX ? piece.length : 0;
    // `for … of` over a buffer is several times slower.
    for (let at = 0; at < piece.length && isBracketed !== false; at++) {
      const byte = piece[at]!;
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isInString = false;
        continue;
      }
      if (isBracketed === null && !SPACES.has(byte)) {
        isBracketed = byte === BRACKET || byte === BRACE;
      }
      if (byte === QUOTE) isInString = true;
      else if (byte === BRACKET || byte === BRACE) {
        depth += 1;
        if (depth <= DEPTH_MAX) values += 1;
        else if (depth === DEPTH_MAX + 1) {
          kept.push(piece.subarray(from, at), NULL);
          from = piece.length;
        }
      } else if (byte === BRACKET_END || byte === BRACE_END) {
        depth -= 1;
        if (depth === DEPTH_MAX) from = at + 1;
      } else if (byte === COMMA && depth <= DEPTH_MAX) values += 1;
      if (values > VALUES_MAX) {
        return { kept: [], wrong: `the reply has more than ${VALUES_MAX} values` };
      }
    }
    kept.push(piece.subarray(from));
    return { kept, wrong: null };
  };
}

const NULL = Buffer.from('null');
const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c];
const [BRACKET, BRACKET_END, BRACE, BRACE_END] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACES: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Whom to trust at the other end of TLS; trusting everybody is not possible. */
export interface Trust {
  /** PEM certificates of authorities; absent: the system's. */
  readonly ca?: string | undefined;
  /**
   * SHA-256 of the only trusted certificate: 64 hexadecimal digits of its DER form, with or without
   * colons. Nothing else of the certificate is checked then.
   */
  readonly sha256?: string | undefined;
}

/** Error of an untrusted certificate; nothing was sent. */
interface Distrust extends Error {
  code: string;
}

/** SHA-256 of a certificate in the form of `Trust`, lower case without colons. */
export const certificateSha256 = (certificate: X509Certificate): string =>
  plainHex(certificate.fingerprint256);

const plainHex = (text: string): string => text.replaceAll(':', '').toLowerCase();

const trusted = new WeakSet<object>();
/** Whether a socket's certificate was checked and trusted before the socket was handed out. */
export const isTrusted = (socket: object): boolean => trusted.has(socket);

/** Connections are used only after their certificate has been trusted. */
export function trustingAgent(trust: Trust, options: https.AgentOptions): https.Agent {
  const agent = new https.Agent(options);
  agent.createConnection = (target, onConnected) => {
    const { givenUp } = target as { givenUp?: AbortSignal };
    const socket = tls.connect({
      ...(target as tls.ConnectionOptions),
      ...(trust.ca !== undefined && { ca: trust.ca }),
      // Checked below, before anything is sent, so that a refusal can name the certificate.
      rejectUnauthorized: false,
    });
    const giveUp = () => socket.destroy();
    const onError = (error: Error) => onConnected?.(error, socket);
    givenUp?.addEventListener('abort', giveUp, { once: true });
    socket.once('error', onError);
    socket.once('secureConnect', () => {
      givenUp?.removeEventListener('abort', giveUp);
      socket.off('error', onError);
      const distrust = distrustOf(socket, trust);
      if (distrust === null) {
        trusted.add(socket);
        return onConnected?.(null, socket);
      }
      socket.destroy();
      onConnected?.(distrust, socket);
    });
    return undefined;
  };
  return agent;
}

function distrustOf(socket: tls.TLSSocket, { sha256 }: Trust): Distrust | null {
  const certificate = socket.getPeerX509Certificate();
  const shown = certificate && certificateSha256(certificate);
  if (sha256 === undefined && socket.authorized) return null;
  if (sha256 !== undefined && shown === plainHex(sha256)) return null;
  const why = sha256 === undefined ? String(socket.authorizationError) : 'CERT_NOT_AS_PINNED';
  return Object.assign(new Error(why), { code: `CERT: ${why}, SHA-256 ${shown ?? 'unknown'}` });
}

/** Maximum length of an API's answer. */
export const REPLY_BYTES_MAX = 32 * 1024 * 1024;

export interface HttpRequest {
  readonly method: string;
  /** Below the base URL, with a leading slash. */
  readonly path: string;
  /** Use `URLSearchParams` if a key is repeated. */
  readonly query: Readonly<Record<string, string>> | URLSearchParams;
  /** Null: none. */
  readonly payload: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  readonly timeoutMs: number;
  /** Use a new connection: a kept one may be closing, which would look like a lost reply. */
  readonly freshConnection: boolean;
}

export interface HttpReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** There was no complete reply. `sent` is false if no part of the request can have left. */
export class HttpFailure extends Error {
  readonly reason:
    | 'transport'
    | 'timeout'
    | 'certificate'
    /** Too long, or too many values, for an API's reply. */
    | 'oversize'
    | 'aborted'
    /** Headers or address do not allow a valid request. */
    | 'unsendable';
  readonly sent: boolean;
  constructor(reason: HttpFailure['reason'], sent: boolean, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.sent = sent;
  }
}

/** Settings for one server. */
export interface HttpTerms {
  readonly baseUrl: string;
  /** TLS trust; absent: the system's authorities. */
  readonly trust?: Trust | undefined;
  /** Each request uses its own connection, and says so. */
  readonly closesConnections?: boolean | undefined;
  /** Maximum reply length; default `REPLY_BYTES_MAX`. */
  readonly replyBytesMax?: number | undefined;
  /**
   * Status and headers are the whole reply, and its text is empty. The body is discarded for this
   * long, and up to `replyBytesMax`, so that the connection can be kept; then the connection is
   * dropped.
   */
  readonly passesBodiesMs?: number | undefined;
}

export interface HttpDeps {
  readonly clock: Clock;
  /** TCP and TLS if absent. */
  readonly network?: Network | undefined;
}

/** Plain exchanges below one base URL, over kept connections by default. */
export function createHttp(terms: HttpTerms, deps: HttpDeps) {
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
    /** One exchange. Redirects are replies like any other. @throws {HttpFailure} */
    async exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
      const givenUp = new AbortController();
      const req = open(request, givenUp.signal);
      const reply = follow(req, { ...request, replyBytesMax, passesBodiesMs }, signal, deps.clock);
      req.end(request.payload ?? '');
      // A request without a socket cannot stop its own connection attempt.
      return reply.catch((error: unknown) => {
        givenUp.abort();
        throw error;
      });
    },
    /** Closes all connections. */
    close(): void {
      kept.destroy();
      fresh.destroy();
    },
  };
}
export type Http = ReturnType<typeof createHttp>;

/** Each request has its own connection. */
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
    /** Set once the head is all that is wanted, whatever happens to the body. */
    let head: HttpReply | null = null;
    const timers = [
      clock.setTimeout(
        () => connected || give('timeout', 'no connection within the time limit'),
        connectTimeoutMs,
      ),
      clock.setTimeout(() => give('timeout', 'no complete reply within the time limit'), timeoutMs),
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
        timers.push(
          clock.setTimeout(() => give('timeout', 'the body did not end'), passesBodiesMs),
        );
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
      res.on('error', (cause) => give('transport', 'the reply was cut off', bare(cause)));
      res.on('end', () => {
        settle();
        resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    if (signal.aborted) onAbort();
  });
}

/**
 * A kept socket, or one with a checked certificate, is connected from the start; a new one after
 * TCP, or after TLS if used.
 */
function whenConnected(req: ClientRequest, then: () => void): void {
  req.once('socket', (socket) => {
    if (req.reusedSocket || isTrusted(socket)) then();
    else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', then);
  });
}

const sizeOf = (bytes: number): string =>
  bytes < 2 ** 20 ? `${bytes / 2 ** 10} KiB` : `${bytes / 2 ** 20} MiB`;

/** A parser's error contains the unreadable bytes, which may quote a secret. */
function bare(error: NodeJS.ErrnoException): Error {
  const { code = '' } = error;
  return code.startsWith('HPE_') ? Object.assign(new Error(code), { code }) : error;
}

const isCertificateError = ({ code }: NodeJS.ErrnoException): boolean =>
  code !== undefined && /CERT|SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY)|ALTNAME/.test(code);
