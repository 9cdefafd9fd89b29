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
 * The kinds of values in a configuration. Each leaf describes itself (`type`, `description`) for
 * the documentation. Every message says what is wrong and what to do, and never shows a secret.
 */

/** The address of a listener. An empty host means every interface. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  /** Name of a socket that the service manager binds and passes on; its address is unknown. */
  readonly socket?: string;
}

/** A value in a message, without the name and password of an URL. */
export const show = (value: unknown): string => {
  const text = (JSON.stringify(value) ?? String(value)).replace(/:\/\/.*@/, '://…@');
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
};

/** The message for a value of the wrong type, or a missing one. */
const wants = (type: string, meaning: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined
    ? `is missing; give ${type}: ${meaning}`
    : `is ${show(issue.input)}; give ${type}`;

/** The same for values that messages must not repeat. */
const wantsUnseen = (type: string, meaning: string) => (issue: { readonly input?: unknown }) =>
  issue.input === undefined ? `is missing; give ${type}: ${meaning}` : `is malformed; give ${type}`;

/** Ends the parse of one leaf with a message. */
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

/** A whole number within the limits, inclusive. */
export const count = (meaning: string, min: number, max = 1_000_000) =>
  numeric(meaning, min, max, `a whole number from ${min} to ${max}`, Number.isInteger);

/** A number within the limits, inclusive. */
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

/** A text without leftover placeholders. `rule` restricts it further. */
export const text = (
  meaning: string,
  rule: { readonly matches: RegExp; readonly type: string } = { matches: /\S/, type: 'a text' },
) => {
  const error = wants(rule.type, meaning);
  return z
    .string({ error })
    .refine((value) => rule.matches.test(value), { error })
    .refine((value) => !/fixme/i.test(value), {
      error: (issue) => `is ${show(issue.input)}; replace the placeholder with your own value`,
    })
    .meta({ type: rule.type.replace(/^an? /, ''), description: meaning });
};

export const url = (meaning: string) =>
  text(meaning, {
    matches: /^https?:\/\/[^\s?#@]+$/,
    type: 'an http or https URL without credentials',
  });

/** `host:port` for connections from other machines; kept as text. */
export const endpoint = (meaning: string) =>
  text(meaning, {
    matches: /^(\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+):([1-9]\d{0,4})$/,
    type: 'a host:port to dial',
  }).refine((value) => Number(value.slice(value.lastIndexOf(':') + 1)) <= 65_535, {
    error: (issue) => `is ${show(issue.input)}; give a port up to 65535`,
  });

/**
 * `host:port`, or `:port` for every interface; with port 0 the system chooses. `systemd:<name>` is
 * a passed socket; its address is unknown, so it counts as open to every interface.
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

/** Parses `host:port`, `:port`, `[v6]:port`, `systemd:<name>`; null: none of them. */
export function parseListenAddress(value: string): ListenAddress | null {
  const [, socket] = /^systemd:([\w.-]{1,255})$/.exec(value) ?? [];
  if (socket !== undefined) return Object.freeze({ host: '', port: 0, socket });
  const parts = /^(?:\[([^\]]+)\]|([^\s:[\]]*)):(\d{1,5})$/.exec(value);
  if (!parts || Number(parts[3]) > 65_535) return null;
  if (parts[1] !== undefined && isIP(parts[1]) !== 6) return null;
  return Object.freeze({ host: parts[1] ?? parts[2] ?? '', port: Number(parts[3]) });
}

/** At most this many host names: no port, scheme or wildcard. */
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

/** A path; relative paths start at the configuration file's directory. */
export const path = (meaning: string, around: Surroundings) =>
  text(meaning, { matches: /\S/, type: 'a path' }).transform((value) =>
    resolve(around.baseDirectory, value),
  );

/** At most this many paths, which need not exist. */
export const paths = (meaning: string, countMax: number, around: Surroundings) => {
  const type = `a list of at most ${countMax} paths`;
  return z
    .array(path(meaning, around), { error: wants(type, meaning) })
    .max(countMax, { error: `has too many entries; give ${type}` })
    .meta({ type: 'list of paths', description: meaning });
};

/** A path on a machine with an agent. */
export const remotePath = (meaning: string) =>
  text(meaning, { matches: /^\/[^\0]*[^/\0]$/, type: 'an absolute path' });

/** A file that must exist, with content, at the daemon's start. */
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

/** For `file`: the content must be a PEM X.509 certificate. */
export function isCertificate(content: Buffer): string | null {
  try {
    return new X509Certificate(content).raw.length > 0 ? null : 'is empty';
  } catch {
    return 'is not a certificate; give a file that starts with -----BEGIN CERTIFICATE-----';
  }
}

/**
 * Shell lines, inline or in `file:<path>`; read again at each use. Printed configurations do not
 * show them, because they may be confidential.
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

/** `${NAME}`, `file:<path>` or `credential:<name>`; the configuration may not contain the value. */
export const secret = (meaning: string, around: Surroundings) => {
  const type = 'a reference, ${NAME}, file:<path> or credential:<name>';
  return z
    .string({ error: wantsUnseen(type, meaning) })
    .transform((value, context) =>
      isReference(value)
        ? lookUp(value, around, context)
        : refuse(context, `is in plain text, visible to every reader; give ${type}`),
    )
    .meta({ type: 'reference', description: meaning });
};

/** A PostgreSQL URL whose password must be a reference. */
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
  return password === '' || /^\$\{\w+\}$/.test(password)
    ? null
    : 'contains a password in plain text';
}

function lookUp(value: string, around: Surroundings, context: z.RefinementCtx) {
  try {
    return createSecret(value, around);
  } catch (error) {
    if (error instanceof UsageError) return refuse(context, error.message);
    throw error;
  }
}
