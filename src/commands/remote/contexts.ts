import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { explain, NotFound, UsageError } from '../../domain/errors.ts';

/** A console that commands may go to. */
export interface Context {
  readonly url: string;
  readonly token?: string;
  /** A command of the shell that prints the token. */
  readonly tokenCommand?: string;
  /** The authorities that alone may have signed its certificate, PEM; absent: those of Node. */
  readonly ca?: string;
  /** Its token may go over plain http to another machine. */
  readonly allowInsecureHttp?: boolean;
  /** Process of the simulator that made it, and takes it away at its end. */
  readonly simulator?: number;
}
export interface Contexts {
  /** Which one is used where none is named; null: none. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { current: null, contexts: {} };

/** Where contexts are kept. */
export const contextsFile = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'shepherd', 'contexts.yaml');

/**
 * The contexts of this person; none where there is no file.
 * @throws {UsageError} others may read the file, or it is not one of contexts.
 */
export function readContexts(file = contextsFile()): Contexts {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return NONE;
  if ((found.mode & 0o077) !== 0) {
    throw new UsageError(`${file} holds tokens, and others may read it; run chmod 600 '${file}'`);
  }
  const { uid } = found;
  if (process.getuid && uid !== process.getuid()) {
    throw new UsageError(`${file} belongs to another user; it is not used`);
  }
  return checked(file, readFileSync(file, 'utf8'));
}

function checked(file: string, text: string): Contexts {
  const wrong = (what: string) =>
    new UsageError(`${file} is not a file of contexts: ${what}; mend it, or remove it and log in`);
  let found: Partial<Contexts> | null;
  try {
    found = parse(text) as Partial<Contexts> | null;
  } catch {
    throw wrong('it is no YAML');
  }
  if (found === null) return NONE;
  const { current = null, contexts = {} } = found;
  if (typeof contexts !== 'object') throw wrong('contexts is no list');
  for (const [name, each] of Object.entries(contexts)) {
    if (typeof each?.url !== 'string') throw wrong(`${name} has no url`);
  }
  return { current, contexts };
}

/**
 * Writes them so that a reader sees the old ones or the new ones, and nobody else sees any.
 * @throws {UsageError} they cannot be written there.
 */
export function writeContexts(contexts: Contexts, file = contextsFile()): void {
  const fresh = `${file}.${process.pid}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    rmSync(fresh, { force: true });
    writeFileSync(fresh, stringify(contexts), { mode: 0o600, flag: 'wx' });
    chmodSync(fresh, 0o600);
    renameSync(fresh, file);
  } catch (cause) {
    const why = explain(cause);
    throw new UsageError(`${file} cannot be written (${why}); mend it, or set XDG_CONFIG_HOME`, {
      cause,
    });
  }
}

/** @throws {NotFound} there is none of that name. */
export function requireContext({ contexts }: Contexts, name: string): Context {
  const found = contexts[name];
  if (found) return found;
  const known = Object.keys(contexts).join(', ') || 'none';
  throw new NotFound(`no context is named ${name}; there is ${known}`);
}

/** The same without one. */
export function without({ current, contexts }: Contexts, name: string): Contexts {
  const { [name]: _, ...rest } = contexts;
  return { current: current === name ? null : current, contexts: rest };
}
