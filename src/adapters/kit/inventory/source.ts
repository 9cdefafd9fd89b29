import { open } from 'node:fs/promises';
import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import { createHttp, type HttpDeps, HttpFailure } from '../../http/exchange.ts';
import { httpRefusal } from '../../http/http-refusal.ts';

/** What was read. */
export interface Reading {
  readonly content: string;
  /** It is good: from now on only something else is news. */
  accept(): void;
}

/** Where an inventory comes from. */
export interface Source {
  /**
   * The content, or null when it is what was accepted last.
   * @throws {ProviderError} `transient`: it cannot be had now. `invalid`: nor later.
   */
  read(signal: AbortSignal): Promise<Reading | null>;
}

const BYTES_MAX = 10 * 1024 * 1024;
const HTTP_TIMEOUT_MS = 10_000;

interface SourceDeps extends HttpDeps {
  readonly userAgent: string;
}

/** @param from an absolute path, or an http(s) URL. */
export function createSource(from: string, deps: SourceDeps): Source {
  return isPage(from) ? httpSource(from, deps) : fileSource(from);
}

export const isPage = (from: string): boolean => /^https?:/.test(from);

/** @param path an absolute one. */
export function fileSource(path: string): Source {
  return {
    async read(signal) {
      try {
        const file = await open(path);
        try {
          const { size } = await file.stat();
          if (size > BYTES_MAX) throw tooLong(path);
          const content = await file.readFile({ encoding: 'utf8', signal });
          return { content, accept: () => undefined };
        } finally {
          await file.close();
        }
      } catch (cause) {
        if (isProviderError(cause) || signal.aborted) throw cause;
        throw new ProviderError('invalid', `the inventory ${path} cannot be read`, { cause });
      }
    },
  };
}

function httpSource(url: string, { userAgent, ...deps }: SourceDeps): Source {
  const { origin: baseUrl, pathname: path, searchParams: query } = new URL(url);
  const terms = { baseUrl, closesConnections: true, replyBytesMax: BYTES_MAX };
  const http = createHttp(terms, deps);
  const limits = { connectTimeoutMs: HTTP_TIMEOUT_MS, timeoutMs: HTTP_TIMEOUT_MS };
  let etag: string | null = null;
  return {
    async read(signal) {
      const headers = { 'user-agent': userAgent, ...(etag !== null && { 'if-none-match': etag }) };
      const page = { method: 'GET', path, query, payload: null, headers, freshConnection: true };
      const reply = await http.exchange({ ...page, ...limits }, signal).catch((cause: unknown) => {
        signal.throwIfAborted();
        throw isFailure(cause, 'oversize') ? tooLong(url) : absent(cause);
      });
      const { status, text: content, headers: answer } = reply;
      if (status === 304 && etag !== null) return null;
      if (status !== 200) {
        const doing = 'cannot read the inventory';
        const told = { get: (name: string) => answer[name]?.toString() };
        const nowMs = deps.clock.now();
        throw httpRefusal({ doing, status, headers: told, changing: false, nowMs });
      }
      return { content, accept: () => void (etag = answer.etag ?? null) };
    },
  };
}

const isFailure = (cause: unknown, reason: HttpFailure['reason']): boolean =>
  cause instanceof HttpFailure && cause.reason === reason;

function absent(cause: unknown): ProviderError {
  const isLate = isFailure(cause, 'timeout');
  const what = isLate ? `did not come in ${HTTP_TIMEOUT_MS} ms` : 'did not come';
  return new ProviderError('transient', `the inventory ${what}`, { cause });
}

const tooLong = (from: string) =>
  new ProviderError('invalid', `the inventory ${from} is longer than ${BYTES_MAX} bytes`);
