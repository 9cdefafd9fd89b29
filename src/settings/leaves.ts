import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../domain/errors.ts';
import { LONGEST_DURATION_MS, formatDuration, parseDuration } from './duration.ts';
import { createScript, createSecret, isReference } from './secret.ts';
import type { Surroundings } from './secret.ts';

/**
 * The kinds of values a configuration is made of. Each leaf says what it is (`type`, `description`)
 * for the documentation, and every message says what is wrong and what to do, never a secret.
 */

/** Where a listener binds. An empty host means every interface. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Name of a socket that the service manager holds and passes on; where it is bound we are not told. */
  readonly socket?: string;
}

/** A value as a message repeats it: without the name and password that an URL may hold. */
export const show = (value: unknown): string => {
  const text = (JSON.stringify(value) ?? String(value)).replace(/:\/\/.*@/, '://…@');
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
};

/** What to say when a value has the wrong type, or is not there at all. */
const wants = (type: string, meaning: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined
    ? `is missing; give ${type}: ${meaning}`
    : `is ${show(issue.input)}; give ${type}`;

/** As `wants`, for values that must not be repeated in a message. */
const wantsUnseen = (type: string, meaning: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined
    ? `is missing; give ${type}: ${meaning}`
    : `is not of the right form; give ${type}`;

/** Ends the parse of one leaf with a complaint. */
function refuse(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

export const flag = (meaning: string) =>
  z
    .boolean({ error: wants('true or false', meaning) })
    .meta({ type: 'true or false', description: meaning });

export const choice = <const Values extends readonly [string, ...string[]]>(
  values: Values,
  meaning: string,
) => {
  const type = values.length === 1 ? values[0] : `one of ${values.join(', ')}`;
  return z.enum(values, { error: wants(type, meaning) }).meta({ type, description: meaning });
};

/** A whole number between the limits, both included. */
export const count = (meaning: string, min: number, max = 1_000_000) =>
  numeric(meaning, min, max, `a whole number from ${min} to ${max}`, Number.isInteger);

/** A number between the limits, both included. */
export const ratio = (meaning: string, min: number, max: number) =>
  numeric(meaning, min, max, `a number from ${min} to ${max}`, Number.isFinite);

function numeric(
  meaning: string,
  min: number,
  max: number,
  type: string,
  fits: (value: number) => boolean,
) {
  const error = wants(type, meaning);
  return z
    .number({ error })
    .refine((value) => fits(value) && value >= min && value <= max, { error })
    .meta({ type, description: meaning });
}

/** A text such as `15m` in the file, milliseconds in the program. */
export const duration = (meaning: string, minMs = 1) => {
  const limits = minMs > 1 ? ` of at least ${formatDuration(minMs)}` : '';
  const type = `a duration${limits} such as 250ms, 2s, 15m or 1h30m`;
  const error = wants(type, meaning);
  return z
    .string({ error })
    .transform((text, context) => {
      const durationMs = parseDuration(text);
      if (durationMs !== null && durationMs >= minMs) return durationMs;
      const most = durationMs === null ? ` (at most ${formatDuration(LONGEST_DURATION_MS)})` : '';
      return refuse(context, `${error({ input: text })}${most}`);
    })
    .meta({ type: 'duration', description: meaning });
};

/** A text that is not a left-over placeholder. `rule` narrows it further. */
export const text = (
  meaning: string,
  rule: { readonly matches: RegExp; readonly type: string } = { matches: /\S/, type: 'a text' },
) => {
  const error = wants(rule.type, meaning);
  return z
    .string({ error })
    .refine((value) => rule.matches.test(value), { error })
    .refine((value) => !/fixme/i.test(value), {
      error: (issue) => `is ${show(issue.input)}; replace the placeholder by a value of your own`,
    })
    .meta({ type: rule.type.replace(/^an? /, ''), description: meaning });
};

export const url = (meaning: string) =>
  text(meaning, {
    matches: /^https?:\/\/[^\s?#@]+$/,
    type: 'an http or https URL without credentials',
  });

/** `host:port` that another machine can dial; kept as text. */
export const endpoint = (meaning: string) =>
  text(meaning, {
    matches: /^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):([1-9]\d{0,4})$/,
    type: 'a host:port to dial',
  }).refine((value) => Number(value.slice(value.lastIndexOf(':') + 1)) <= 65_535, {
    error: (issue) => `is ${show(issue.input)}; give a port up to 65535`,
  });

/**
 * `host:port`, `:port` for every interface; port 0 lets the system choose. `systemd:<name>` is a socket that
 * somebody else bound: since nobody here knows where, it counts as open to every interface.
 */
export const listen = (meaning: string) => {
  const type =
    'an address host:port, :port for every interface, or systemd:<name> of a socket unit';
  return z
    .string({ error: wants(type, meaning) })
    .transform(
      (value, context) =>
        parseListenAddress(value) ?? refuse(context, `is ${show(value)}; give ${type}`),
    )
    .meta({ type: 'host:port', description: meaning });
};

/** Reads `host:port`, `:port`, `[v6]:port`, `systemd:<name>`; null when it is none of them. */
export function parseListenAddress(value: string): ListenAddress | null {
  const [, socket] = /^systemd:([\w.-]{1,255})$/.exec(value) ?? [];
  if (socket !== undefined) return Object.freeze({ host: '', port: 0, socket });
  const parts = /^(?:\[([^\]]+)\]|([^\s:[\]]*)):(\d{1,5})$/.exec(value);
  if (!parts || Number(parts[3]) > 65_535) return null;
  if (parts[1] !== undefined && isIP(parts[1]) !== 6) return null;
  return Object.freeze({ host: parts[1] ?? parts[2] ?? '', port: Number(parts[3]) });
}

/** At most so many names as a URL has them: no port, no scheme, no wildcard. */
export const hostNames = (meaning: string, countMax: number) => {
  const type = `a list of at most ${countMax} host names such as fleet.example.org`;
  const name = text(meaning, {
    matches:
      /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/i,
    type: 'a host name without scheme and port',
  });
  return z
    .array(name, { error: wants(type, meaning) })
    .max(countMax, { error: `has too many entries; give ${type}` })
    .meta({ type: 'list of host names', description: meaning });
};

/** A path; relative ones start at the directory of the configuration file. */
export const path = (meaning: string, around: Surroundings) =>
  text(meaning, { matches: /\S/, type: 'a path' }).transform((value) =>
    resolve(around.baseDirectory, value),
  );

/** At most so many paths; none of them need exist. */
export const paths = (meaning: string, countMax: number, around: Surroundings) => {
  const type = `a list of at most ${countMax} paths`;
  return z
    .array(path(meaning, around), { error: wants(type, meaning) })
    .max(countMax, { error: `has too many entries; give ${type}` })
    .meta({ type: 'list of paths', description: meaning });
};

/** A path on the machine that an agent is put on. */
export const remotePath = (meaning: string) =>
  text(meaning, { matches: /^\/[^\0]*[^/\0]$/, type: 'an absolute path' });

/** A file that must be there, with content, when the daemon starts. */
export const file = (
  meaning: string,
  around: Surroundings,
  check: (content: Buffer) => string | null = () => null,
) =>
  path(meaning, around).superRefine((value, context) => {
    const complaint = around.checkFiles ? complaintAbout(value, check) : null;
    if (complaint !== null) context.addIssue({ code: 'custom', message: complaint });
  });

function complaintAbout(name: string, check: (content: Buffer) => string | null): string | null {
  try {
    const content = readFileSync(name);
    return content.length === 0 ? `is ${name}, which is empty; give another file` : check(content);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    return `is ${name}, which cannot be read (${code}); give a file that can`;
  }
}

/** For `file`: the content must be an X.509 certificate in PEM. */
export function isCertificate(content: Buffer): string | null {
  try {
    return new X509Certificate(content).raw.length > 0 ? null : 'is empty';
  } catch {
    return 'is not a certificate; give a file that starts with -----BEGIN CERTIFICATE-----';
  }
}

/**
 * Lines of a shell, written out or `file:<path>`; read again at each use. What prints the
 * configuration does not show them, since such lines may hold what is nobody's business.
 */
export const script = (meaning: string, bytesMax: number, around: Surroundings) => {
  const type = `lines of at most ${bytesMax} bytes, or file:<path>`;
  return z
    .string({ error: wantsUnseen(type, meaning) })
    .transform((value, context) => {
      try {
        const found = createScript(value, around);
        if (Buffer.byteLength(found.read()) <= bytesMax) return found;
        return refuse(context, `is too long; give ${type}`);
      } catch (error) {
        if (error instanceof UsageError) return refuse(context, error.message);
        throw error;
      }
    })
    .meta({ type: 'shell lines or file:<path>', description: meaning });
};

/** `${NAME}`, `file:<path>` or `credential:<name>`; a value written out in the configuration is refused. */
export const secret = (meaning: string, around: Surroundings) => {
  const type = 'a reference, ${NAME}, file:<path> or credential:<name>';
  return z
    .string({ error: wantsUnseen(type, meaning) })
    .transform((value, context) =>
      isReference(value)
        ? lookUp(value, around, context)
        : refuse(context, `is written out, which would show it to every reader; give ${type}`),
    )
    .meta({ type: 'reference', description: meaning });
};

/** A PostgreSQL URL in which a password may only stand as a reference. */
export const databaseUrl = (meaning: string, around: Surroundings) => {
  const type = 'a URL such as postgres://bmdb:${PGPASSWORD}@db:5432/bmdb, or a reference to one';
  return z
    .string({ error: wantsUnseen(type, meaning) })
    .transform((value, context) => {
      if (isReference(value)) return lookUp(value, around, context);
      const complaint = complaintAboutUrl(value);
      if (complaint !== null) return refuse(context, `${complaint}; give ${type}`);
      return lookUp(value, around, context);
    })
    .meta({ type: 'PostgreSQL URL or reference', description: meaning });
};

function complaintAboutUrl(value: string): string | null {
  const form = /^postgres(?:ql)?:\/\/(?:[^:@/\s]*(?::([^@/\s]*))?@)?[^\s]*$/.exec(value);
  if (!form) return 'is not a PostgreSQL URL';
  const password = form[1] ?? /[?&]password=([^&]*)/.exec(value)?.[1] ?? '';
  return password === '' || /^\$\{\w+\}$/.test(password) ? null : 'holds a password written out';
}

function lookUp(value: string, around: Surroundings, context: z.RefinementCtx) {
  try {
    return createSecret(value, around);
  } catch (error) {
    if (error instanceof UsageError) return refuse(context, error.message);
    throw error;
  }
}
