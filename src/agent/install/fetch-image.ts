import { get as getHttp, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { get as getHttps } from 'node:https';
import { rootCertificates } from 'node:tls';
import { failureDelayMs, type LoopTime } from '../heartbeat-loop.ts';

export interface FetchOptions {
  /** Aborts everything, including waits. */
  readonly signal: AbortSignal;
  readonly time: Pick<LoopTime, 'sleep' | 'random'>;
  readonly log: (message: string) => void;
  /** PEM of an additional authority to trust; null: none. */
  readonly trust: string | null;
  /** A server that sends nothing for this long is abandoned, and asked again. */
  readonly silenceMs: number;
  /** Maximum size that fits. */
  readonly sizeMaxBytes: number;
}

const REDIRECTS_MAX = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Statuses worth a retry, besides all from 500 on. */
const PASSING = [408, 425, 429];

/** An error that no retry can fix. */
class FetchError extends Error {
  override readonly name = 'FetchError';
}

/** Progress of the download, and the validator of this content. */
interface Progress {
  atBytes: number;
  validator: string | null;
  totalBytes: number | null;
}

/**
 * The content of an http or https address, from the first byte to the last. Renews a broken or
 * silent connection and resumes if the server supports it; otherwise skips the known bytes.
 * @throws {Error} the server refuses, the content is too large, or the signal was aborted.
 */
export async function* fetchImage(
  url: string,
  options: FetchOptions,
): AsyncGenerator<Buffer, void> {
  const { signal, time, log } = options;
  const progress: Progress = { atBytes: 0, validator: null, totalBytes: null };
  let failures = 0;
  for (;;) {
    const startedAt = progress.atBytes;
    try {
      yield* fetchOnce(url, options, progress);
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FetchError) throw error;
      failures = progress.atBytes > startedAt ? 1 : failures + 1;
      log(`the download of the image ended at byte ${progress.atBytes}: ${messageOf(error)}`);
    }
    await time.sleep(failureDelayMs(failures, time.random()), signal);
    signal.throwIfAborted();
  }
}

/** Scheme, host and path of an address, because its user and query may be credentials. */
export function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message || error.name : String(error);

async function* fetchOnce(
  url: string,
  options: FetchOptions,
  progress: Progress,
): AsyncGenerator<Buffer, void> {
  const response = await open(url, rangeOf(progress), options);
  try {
    let known = startOf(response, progress);
    assertFits(progress.totalBytes ?? progress.atBytes, options);
    for await (const chunk of response as AsyncIterable<Buffer>) {
      const fresh = chunk.subarray(Math.min(known, chunk.length));
      known -= chunk.length - fresh.length;
      progress.atBytes += fresh.length;
      if (fresh.length > 0) yield fresh;
    }
    if (progress.totalBytes !== null && progress.atBytes < progress.totalBytes) {
      throw new Error('the connection ended early');
    }
  } finally {
    response.destroy();
  }
}

function assertFits(sizeBytes: number, { sizeMaxBytes }: FetchOptions): void {
  if (sizeBytes <= sizeMaxBytes) return;
  throw new FetchError(`the image has ${sizeBytes} bytes, and only ${sizeMaxBytes} bytes fit`);
}

/** Only with a strong validator: a weak one does not promise the same bytes. */
const rangeOf = ({ atBytes, validator }: Progress): OutgoingHttpHeaders =>
  atBytes === 0 || validator === null ? {} : { range: `bytes=${atBytes}-`, 'if-range': validator };

/** Number of the following bytes that are already known. */
function startOf({ statusCode, headers }: IncomingMessage, progress: Progress): number {
  if (statusCode === 206) {
    const start = /^bytes (\d+)-/.exec(headers['content-range'] ?? '')?.[1];
    if (Number(start) === progress.atBytes) return 0;
    throw new FetchError(`the server sent a different range than requested: ${start}`);
  }
  const { etag, 'content-length': length } = headers;
  progress.validator = etag?.startsWith('"') ? etag : null;
  progress.totalBytes = length === undefined ? null : Number(length);
  return progress.atBytes;
}

async function open(
  url: string,
  headers: OutgoingHttpHeaders,
  options: FetchOptions,
): Promise<IncomingMessage> {
  let target = new URL(url);
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await request(target, headers, options);
    const { statusCode = 0 } = response;
    if (statusCode === 200 || statusCode === 206) return response;
    response.destroy();
    const { location } = response.headers;
    if (!REDIRECTS.includes(statusCode) || location === undefined)
      throw refusal(target, statusCode);
    target = redirected(location, target);
  }
  throw new FetchError(`more than ${REDIRECTS_MAX} redirects from ${withoutSecrets(url)}`);
}

function refusal({ host }: URL, status: number): Error {
  const message = `${host} answered with status ${status}`;
  return status >= 500 || PASSING.includes(status) ? new Error(message) : new FetchError(message);
}

function redirected(location: string, from: URL): URL {
  const target = URL.canParse(location, from.href) ? new URL(location, from) : null;
  // A redirect from https to http would expose an address that may hold credentials.
  const isInClear = from.protocol === 'https:' && target?.protocol === 'http:';
  if (isInClear) throw new FetchError(`${from.host} redirects from https to plain http`);
  if (target && ['http:', 'https:'].includes(target.protocol)) return target;
  throw new FetchError(`${from.host} redirects to an address that is neither http nor https`);
}

function request(
  target: URL,
  headers: OutgoingHttpHeaders,
  { signal, silenceMs, trust }: FetchOptions,
): Promise<IncomingMessage> {
  const isSecure = target.protocol === 'https:';
  const ca = isSecure && trust !== null ? { ca: [...rootCertificates, trust] } : {};
  return new Promise((resolve, reject) => {
    const options = { headers, signal, agent: false, ...ca };
    const call = (isSecure ? getHttps : getHttp)(target, options, resolve);
    call.setTimeout(silenceMs, () => call.destroy(new Error(`silent for ${silenceMs} ms`)));
    call.on('error', reject);
  });
}
