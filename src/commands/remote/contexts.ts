import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { explain, NotFound, UsageError } from '../../domain/errors.ts';
import { createHttpTransport, type Transport } from './client.ts';
import { EXIT_INTERRUPTED, Interrupted } from './failures.ts';

/** A known console. */
export interface Context {
  readonly url: string;
  readonly token?: string;
  /** A shell command that prints the token. */
  readonly tokenCommand?: string;
  /** The only trusted certificate authorities, PEM; absent: those of Node. */
  readonly ca?: string;
  /** The token may travel over plain HTTP to another machine. */
  readonly allowInsecureHttp?: boolean;
  /** Process of the simulator that made this context and removes it at its end. */
  readonly simulator?: number;
}
export interface Contexts {
  /** The context in use; null: none. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, Context>>;
}

const NONE: Contexts = { current: null, contexts: {} };

/** The file of the contexts. */
export const contextsFile = (env: NodeJS.ProcessEnv = process.env): string =>
  join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'shepherd', 'contexts.yaml');

/**
 * Reads the contexts of this user; none if the file does not exist.
 * @throws {UsageError} others may read the file, or its content is not valid.
 */
export function readContexts(file = contextsFile()): Contexts {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return NONE;
  if ((found.mode & 0o077) !== 0) {
    throw new UsageError(
      `${file} holds tokens, and other users may read it; run chmod 600 '${file}'`,
    );
  }
  const { uid } = found;
  if (process.getuid && uid !== process.getuid()) {
    throw new UsageError(`${file} belongs to another user; remove it, or set XDG_CONFIG_HOME`);
  }
  return checked(file, readFileSync(file, 'utf8'));
}

function checked(file: string, text: string): Contexts {
  const wrong = (what: string) =>
    new UsageError(
      `${file} is not a valid file of contexts: ${what}; correct it, or remove it and log in again`,
    );
  let found: Partial<Contexts> | null;
  try {
    found = parse(text) as Partial<Contexts> | null;
  } catch {
    throw wrong('it is not YAML');
  }
  if (found === null) return NONE;
  const { current = null, contexts = {} } = found;
  if (typeof contexts !== 'object') throw wrong('"contexts" is not a map');
  for (const [name, each] of Object.entries(contexts)) {
    if (typeof each?.url !== 'string') throw wrong(`${name} has no url`);
  }
  return { current, contexts };
}

/**
 * Writes the contexts atomically, readable only by this user.
 * @throws {UsageError} the file cannot be written.
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
    throw new UsageError(
      `${file} cannot be written (${why}); correct that, or set XDG_CONFIG_HOME`,
      { cause },
    );
  }
}

/** @throws {NotFound} no context has this name. */
export function requireContext({ contexts }: Contexts, name: string): Context {
  const found = contexts[name];
  if (found) return found;
  const known = Object.keys(contexts).join(', ') || 'none';
  throw new NotFound(`no context is named ${name}; there is ${known}`);
}

/** The contexts without one of them. */
export function without({ current, contexts }: Contexts, name: string): Contexts {
  const { [name]: _, ...rest } = contexts;
  return { current: current === name ? null : current, contexts: rest };
}

/** The flags that say which console is asked. */
export interface TransportFlags {
  readonly url?: string;
  readonly context?: string;
  /** The token may travel over plain HTTP to another machine. */
  readonly allowInsecureHttp?: boolean;
}

export interface TransportMeans {
  readonly version: string;
  /** Never run a `tokenCommand`, because nobody could answer its prompts. */
  readonly isSilent?: boolean;
}

/**
 * Chooses the console: by a flag, else by the environment, else by the context in use.
 * @throws {UsageError} no console is known.
 */
export function openTransport(
  flags: TransportFlags,
  means: TransportMeans,
  env: NodeJS.ProcessEnv = process.env,
): Transport {
  const { context } = flags;
  const all = readContexts();
  const { version, isSilent } = means;
  const transportTo = (place: Context, token: string | null, advice: string) =>
    createHttpTransport({
      ...{ url: addressOf(place.url), token, version, advice, ca: place.ca },
      allowInsecureHttp: flags.allowInsecureHttp || place.allowInsecureHttp === true,
    });
  const url = flags.url ?? (context === undefined ? env['SHEPHERD_URL'] : undefined);
  if (url) {
    // A context with the same address provides the CA, and the token if the environment has none.
    const known = Object.values(all.contexts).find(
      (each) => addressOf(each.url) === addressOf(url),
    );
    const token = env['SHEPHERD_TOKEN'] || (known ? tokenOf(known, isSilent) : null);
    return transportTo(
      { ...known, url },
      token,
      `check its daemon, or give another --url; ${EMERGENCY}`,
    );
  }
  const name = context ?? all.current;
  if (name === null) {
    throw new UsageError(
      'no console is known; log in with "shepherd login URL", give --url, or start a simulated fleet ' +
        'with "shepherd sim"',
    );
  }
  // The token of the environment may belong to another console.
  const found = requireContext(all, name);
  const advice =
    found.simulator === undefined
      ? `check its daemon, or choose another context with "shepherd context use"; ${EMERGENCY}`
      : `a killed simulator left the context ${name} behind: run "shepherd context remove ${name}"`;
  return transportTo(found, tokenOf(found, isSilent), advice);
}

/** What to do when no daemon is left. */
const EMERGENCY =
  'if no daemon is left, "shepherd run --roles console --config FILE" serves a console';

/** @throws {UsageError} the text is not an http or https address. */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(
      `${text} is not the address of a console; give one such as https://fleet.example.org/`,
    );
  }
  url.hash = '';
  url.search = '';
  return url.href;
}

/** Long enough for a person to unlock a password store. */
const TOKEN_LIMIT_MS = 30_000;

/**
 * @param isSilent run no command; return only a stored token.
 * @throws {UsageError} the command prints no token in time. @throws {Interrupted}
 */
export function tokenOf(
  { token, tokenCommand }: Context,
  isSilent = false,
  limitMs = TOKEN_LIMIT_MS,
): string | null {
  if (tokenCommand === undefined) return token ?? null;
  if (isSilent)
    throw new UsageError('a command prints the token of this context, and it is not run here');
  const { error, signal, status, stdout } = spawnSync('/bin/sh', ['-c', tokenCommand], {
    ...{ encoding: 'utf8', stdio: ['inherit', 'pipe', 'inherit'], timeout: limitMs },
    killSignal: 'SIGKILL',
  });
  if (error && 'code' in error && error.code === 'ETIMEDOUT') {
    throw new UsageError(
      `tokenCommand prints no token within ${limitMs / 1_000} s; correct it with "shepherd login"`,
    );
  }
  // Ctrl-C also reaches the command, and ends both.
  if (signal === 'SIGINT' || status === EXIT_INTERRUPTED) throw new Interrupted();
  if (error || status !== 0) {
    const why = error ? explain(error) : `it ends with ${signal ?? status}`;
    throw new UsageError(`tokenCommand fails: ${why}; correct it with "shepherd login"`);
  }
  const [first = ''] = stdout.split('\n');
  if (first.trim() !== '') return first.trim();
  throw new UsageError('tokenCommand prints no token; correct it with "shepherd login"');
}
