import { open } from 'node:fs/promises';
import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Clock } from '../../clock/port.ts';
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

/** @param from an absolute path, or an http(s) URL. */
export function createSource(from: string, deps: { clock: Clock; userAgent: string }): Source {
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

function httpSource(
  url: string,
  { clock, userAgent }: { clock: Clock; userAgent: string },
): Source {
  let etag: string | null = null;
  async function fetched(signal: AbortSignal): Promise<Reading | null> {
    const headers = { 'user-agent': userAgent, ...(etag !== null && { 'if-none-match': etag }) };
    const response = await fetch(url, { signal, headers, redirect: 'manual' });
    if (response.status === 304 && etag !== null) return null;
    if (response.status !== 200) {
      await response.body?.cancel();
      const { status, headers: answer } = response;
      const doing = 'cannot read the inventory';
      throw httpRefusal({ doing, status, headers: answer, changing: false, nowMs: clock.now() });
    }
    const content = await limited(response, url);
    const accept = () => {
      etag = response.headers.get('etag');
    };
    return { content, accept };
  }
  return {
    async read(signal) {
      const late = new AbortController();
      const timer = clock.setTimeout(() => late.abort(), HTTP_TIMEOUT_MS);
      try {
        return await fetched(AbortSignal.any([signal, late.signal]));
      } catch (cause) {
        if (isProviderError(cause) || signal.aborted) throw cause;
        const what = late.signal.aborted ? `did not come in ${HTTP_TIMEOUT_MS} ms` : 'did not come';
        throw new ProviderError('transient', `the inventory ${what}`, { cause });
      } finally {
        clock.clearTimeout(timer);
      }
    },
  };
}

/** The body as text, as long as it is not too long. */
async function limited(response: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > BYTES_MAX) throw tooLong(url);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const tooLong = (from: string) =>
  new ProviderError('invalid', `the inventory ${from} is longer than ${BYTES_MAX} bytes`);
