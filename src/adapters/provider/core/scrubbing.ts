import { inspect } from 'node:util';
import type { Secret } from '../../../settings/secret.ts';
import { explain, ProviderError } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { HIDDEN, spellingsOf } from '../../kit/redact.ts';
import { wrappedIn } from './wrapped.ts';

/** What must not leave the core in a text, and how it is taken out. */
export interface Scrubber {
  /** From now on this is secret too; of very many the oldest are forgotten. */
  keep(...texts: readonly string[]): void;
  /**
   * The same error, its causes and its facets, with what is secret taken out of all their texts; one
   * that cannot be changed is replaced.
   */
  clean(error: unknown): unknown;
}

/** Shorter ones would make holes in ordinary words. */
const SHORTEST = 6;
/** More than calls at once ever need. */
const KEPT_MAX = 512;
const DEPTH_MAX = 16;

/** @param configured read at the start, and again with each error, since they may be rotated. */
export function createScrubber(configured: readonly Secret[] = []): Scrubber {
  const known = new Set<string>();

  function keep(...texts: readonly string[]): void {
    for (const text of texts.filter(({ length }) => length >= SHORTEST)) {
      known.delete(text);
      known.add(text);
    }
    for (const oldest of [...known].slice(0, -KEPT_MAX)) known.delete(oldest);
  }
  const refresh = () => keep(...configured.flatMap(readable));
  refresh();

  function scrub(text: string): string {
    // Longest first: a script holds secrets of its own.
    const forms = [...known].flatMap(spellingsOf).toSorted((a, b) => b.length - a.length);
    return forms.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  }

  return {
    keep,
    clean(error) {
      refresh();
      if (!(error instanceof Error)) return cleanOther(error, scrub);
      if (cleanChain(error, scrub, 0)) return error;
      return replacement(error, scrub(explain(error)));
    },
  };
}

/** The values of all secrets that stand in settings, however deep. */
export function secretsIn(settings: unknown): Secret[] {
  if (typeof settings !== 'object' || settings === null) return [];
  if (isSecret(settings)) return [settings];
  return Object.values(settings).flatMap(secretsIn);
}

const isSecret = (value: object): value is Secret =>
  'reference' in value && 'read' in value && typeof value.read === 'function';

/** What it was last is known; that it has gone is for its user to tell. */
function readable(secret: Secret): string[] {
  try {
    return [secret.read()];
  } catch {
    return [];
  }
}

/** False: a part of it could not be changed. */
function cleanChain(error: Error, scrub: (text: string) => string, depth: number): boolean {
  if (depth > DEPTH_MAX) return Reflect.defineProperty(error, 'cause', { value: undefined });
  const own = (['message', 'stack', 'code', 'name'] as const).every((key) => {
    const text = (error as unknown as Record<string, unknown>)[key];
    return typeof text !== 'string' || put(error, key, text, scrub(text));
  });
  return own && cleanCause(error, scrub, depth) && cleanParts(error, scrub, depth);
}

function cleanCause(error: Error, scrub: (text: string) => string, depth: number): boolean {
  const { cause } = error;
  if (cause instanceof Error) return cleanChain(cause, scrub, depth + 1);
  return put(error, 'cause', cause, cleanOther(cause, scrub));
}

/** No error, and shown as a text all the same. */
function cleanOther(value: unknown, scrub: (text: string) => string): unknown {
  if (typeof value !== 'object' && typeof value !== 'string') return value;
  const text = typeof value === 'string' ? value : inspect(value);
  const clean = scrub(text);
  return clean === text ? value : clean;
}

function cleanParts(error: Error, scrub: (text: string) => string, depth: number): boolean {
  if (!(error instanceof AggregateError)) return true;
  const parts: readonly unknown[] = error.errors;
  return parts.every((part) => !(part instanceof Error) || cleanChain(part, scrub, depth + 1));
}

const put = (error: Error, key: string, before: unknown, value: unknown): boolean =>
  before === value ||
  Reflect.defineProperty(error, key, {
    value,
    writable: true,
    configurable: true,
    enumerable: false,
  });

function replacement(error: Error, message: string): Error {
  const wrapped = wrappedIn(error);
  if (!wrapped) return new Error(message);
  const { outcome, quota, capacity, retryAtMs } = facetsOf(error);
  return new ProviderError(wrapped.kind, message, {
    outcome,
    ...(quota && { quota }),
    ...(capacity && { capacity: { scope: capacity } }),
    ...(retryAtMs !== null && { rateLimit: { retryAt: new Date(retryAtMs) } }),
  });
}
