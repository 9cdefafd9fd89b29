import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { isProviderError, ProviderError, explain, UsageError } from '../../../domain/errors.ts';
import type { HostKeyPolicy } from '../../../domain/policy.ts';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type { SettingComplaint } from '../../provider/port.ts';
import { httpRefusal, isLoopbackHost } from '../errors.ts';
import { createHttp, HttpFailure, type HttpDeps } from '../exchange.ts';

/** An inventory as read. */
export interface Reading {
  readonly content: string;
  /** Marks the content as good: later reads report only changes. */
  accept(): void;
}

/** Source of an inventory. */
export interface Source {
  /**
   * The content, or null if it equals the last accepted one.
   * @throws {ProviderError} `transient`: it cannot be read now. `invalid`: nor later.
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

/** @param path absolute. */
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
  const what = isLate ? `did not arrive within ${HTTP_TIMEOUT_MS} ms` : 'did not come';
  return new ProviderError('transient', `the inventory ${what}`, { cause });
}

const tooLong = (from: string) =>
  new ProviderError('invalid', `the inventory ${from} is longer than ${BYTES_MAX} bytes`);

/** Machines of an inventory, read again periodically. */
export interface Inventory<Entry> {
  /**
   * The entries by id; the last good copy if the inventory is unreadable or refused now.
   * @param agesMs maximum age; default: the usual one.
   * @throws {ProviderError} there has never been a good copy.
   */
  entries(signal: AbortSignal, agesMs?: number): Promise<ReadonlyMap<string, Entry>>;
}

export interface InventoryDeps<Entry> {
  readonly name: string;
  readonly source: Source;
  readonly refreshMs: number;
  /** Parses the whole list. @throws {UsageError} it is refused. */
  readonly parse: (content: string) => readonly Entry[];
  readonly clock: Clock;
  readonly log: Log;
}

/** A lasting fault is logged again after this time. */
const REMIND_MS = 3_600_000;

export function createInventory<Entry extends { readonly id: string }>(
  deps: InventoryDeps<Entry>,
): Inventory<Entry> {
  const { name, source, refreshMs, parse, clock, log } = deps;
  let copy: ReadonlyMap<string, Entry> | null = null;
  let lookedMs = -Infinity;
  let fault: { readonly cause: string; readonly toldMs: number } | null = null;

  async function look(signal: AbortSignal): Promise<ReadonlyMap<string, Entry>> {
    const reading = await source.read(signal);
    if (reading === null && copy) return copy;
    const entries = parse(reading?.content ?? '');
    reading?.accept();
    log.debug({ provider: name, machines: entries.length }, 'the inventory was read');
    return new Map(entries.map((entry) => [entry.id, entry]));
  }

  /** Logs a new fault at once, and a lasting one periodically, so that nobody forgets it. */
  function alarm(cause: string, atMs: number): void {
    if (fault?.cause === cause && atMs - fault.toldMs < REMIND_MS) return;
    fault = { cause, toldMs: atMs };
    log.error(
      { provider: name, cause },
      'the inventory is unusable; the last good copy stays in use',
    );
  }
  function recovered(): void {
    if (fault) log.info({ provider: name }, 'the inventory is usable again');
    fault = null;
  }

  return {
    async entries(signal, ageMs = refreshMs) {
      if (copy && clock.monotonic() - lookedMs < ageMs) return copy;
      const atMs = clock.monotonic();
      try {
        copy = await look(signal);
        lookedMs = atMs;
        recovered();
      } catch (error) {
        if (!(error instanceof UsageError) && !isProviderError(error)) throw error;
        lookedMs = atMs;
        if (!copy) throw refused(error);
        alarm(explain(error), atMs);
      }
      return copy;
    },
  };
}

const refused = (error: UsageError | ProviderError): ProviderError =>
  error instanceof UsageError
    ? new ProviderError('invalid', error.message, { cause: error })
    : error;

/** Where a list of machines is: an absolute path or a URL in the program. */
export const inventoryLocation = (meaning: string, around: Surroundings) =>
  leaf
    .text(meaning, {
      matches: /^(file:.+|https?:\/\/[^\s@]+)$/,
      type: 'file:<path>, or an https URL without credentials',
    })
    .refine(
      (text) => !text.startsWith('http:') || isLoopbackHost(URL.parse(text)?.hostname ?? ''),
      {
        error:
          'is read unencrypted, so that an attacker could insert machines; give an https URL ' +
          '(plain http is allowed from loopback only)',
      },
    )
    .transform((text) => (text.startsWith('file:') ? pathOf(text, around.baseDirectory) : text));

/** Settings of all drivers whose machines are in a list. */
export const inventorySettings = (around: Surroundings) => ({
  inventory: inventoryLocation(
    'Location of the list of machines: JSON, read again periodically.',
    around,
  ),
  refresh: leaf.duration('Interval at which the list is read again.', 1_000).prefault('5m'),
  sshUser: leaf.text('User to log in as, where an entry names none.').prefault('root'),
  sshPasswords: z
    .record(NAME, leaf.secret('A password of users, for entries that refer to it.', around))
    .prefault({}),
  probePort: leaf
    .count('Port to probe whether a machine is up, if its entry gives none.', 1, 65_535)
    .prefault(22),
  probeTimeout: leaf.duration('Time limit of a probe.').prefault('3s'),
});

/** What happens to a machine of a list that is given back. */
export const LETTING_GO =
  'its agent is stopped and Shepherd lets go of it; its system and its disks stay as they are';

/** A name that entries refer to. */
export const NAME = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,30}$/, { error: 'is not a valid name; use a-z, 0-9 and -' });

const pathOf = (text: string, baseDirectory: string): string =>
  text.startsWith('file://') ? fileURLToPath(text) : resolve(baseDirectory, text.slice(5));

const NAMES_SHOWN = 5;

interface InventoryEntry {
  readonly id: string;
  readonly hostKey: string | null;
}

/**
 * Faults for which a provider would refuse this inventory, or could never start an agent. A web
 * page is not requested.
 * @param parse parses its list.
 */
export async function complaintsAboutInventory(
  inventory: string,
  parse: (content: string) => readonly InventoryEntry[],
  policy: HostKeyPolicy,
  key = 'inventory',
): Promise<readonly SettingComplaint[]> {
  if (isPage(inventory)) return [];
  try {
    const reading = await fileSource(inventory).read(new AbortController().signal);
    const keyless = parse(reading?.content ?? '').filter(({ hostKey }) => hostKey === null);
    return policy === 'strict' && keyless.length > 0 ? [keysMissing(keyless, key)] : [];
  } catch (error) {
    if (!(error instanceof UsageError) && !isProviderError(error)) throw error;
    const message = `is ${inventory}: ${explain(error)}; correct the file`;
    return [{ key, message }];
  }
}

function keysMissing(entries: readonly { readonly id: string }[], key: string): SettingComplaint {
  const names = entries.slice(0, NAMES_SHOWN).map(({ id }) => id);
  const more = entries.length > names.length ? ` and ${entries.length - names.length} more` : '';
  return {
    key,
    message:
      `names no HostKey for ${names.join(', ')}${more}, and hostKeyPolicy is strict: no agent is ` +
      'started there, unless a key was pinned before; add a HostKey to their entries',
    isWarning: true,
  };
}
