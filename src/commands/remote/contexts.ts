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
import { openHttpDoor, type Door } from './client.ts';
import { EXIT_INTERRUPTED, Interrupted } from './failures.ts';

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

/** Which console a command goes to, as flags and environment say. */
export interface DoorFlags {
  readonly url?: string;
  readonly context?: string;
  /** A token may go over plain http to another machine. */
  readonly allowInsecureHttp?: boolean;
}

export interface DoorMeans {
  readonly version: string;
  /** Nobody is there who could answer a `tokenCommand`, so none is run. */
  readonly isSilent?: boolean;
}

/**
 * Opens the door that is meant: what a flag says, else the environment, else the context.
 * @throws {UsageError} none is meant.
 */
export function openDoor(
  flags: DoorFlags,
  means: DoorMeans,
  env: NodeJS.ProcessEnv = process.env,
): Door {
  const { context } = flags;
  const all = readContexts();
  const { version, isSilent } = means;
  const doorTo = (place: Context, token: string | null, advice: string) =>
    openHttpDoor({
      ...{ url: addressOf(place.url), token, version, advice, ca: place.ca },
      allowInsecureHttp: flags.allowInsecureHttp || place.allowInsecureHttp === true,
    });
  const url = flags.url ?? (context === undefined ? env['SHEPHERD_URL'] : undefined);
  if (url) {
    // Of a context with this address come the CA, and the token where the environment has none.
    const known = Object.values(all.contexts).find(
      (each) => addressOf(each.url) === addressOf(url),
    );
    const token = env['SHEPHERD_TOKEN'] || (known ? tokenOf(known, isSilent) : null);
    return doorTo(
      { ...known, url },
      token,
      `see to its daemon, or give another --url; ${EMERGENCY}`,
    );
  }
  const name = context ?? all.current;
  if (name === null) {
    throw new UsageError(
      'no console is known; "shepherd login URL" makes one known, --url names one, and "shepherd ' +
        'sim" starts one with a simulated fleet',
    );
  }
  // The token of the environment may be another console's.
  const found = requireContext(all, name);
  const advice =
    found.simulator === undefined
      ? `see to its daemon, or choose another with "shepherd context use"; ${EMERGENCY}`
      : `the context ${name} was left by a simulator that was killed: "shepherd context remove ${name}"`;
  return doorTo(found, tokenOf(found, isSilent), advice);
}

/** What can be done where every daemon is gone. */
const EMERGENCY =
  'where no daemon is left, "shepherd run --roles console --config FILE" beside the database serves one';

/** @throws {UsageError} it is no address of a console. */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${text} is no address of a console, such as https://fleet.example.org/`);
  }
  url.hash = '';
  url.search = '';
  return url.href;
}

/** A person may have to unlock something first. */
const TOKEN_LIMIT_MS = 30_000;

/**
 * @param isSilent only a token that is kept: nothing is run.
 * @throws {UsageError} the command does not print one in time. @throws {Interrupted}
 */
export function tokenOf(
  { token, tokenCommand }: Context,
  isSilent = false,
  limitMs = TOKEN_LIMIT_MS,
): string | null {
  if (tokenCommand === undefined) return token ?? null;
  if (isSilent) throw new UsageError('its token is printed by a command, which is not run here');
  const { error, signal, status, stdout } = spawnSync('/bin/sh', ['-c', tokenCommand], {
    ...{ encoding: 'utf8', stdio: ['inherit', 'pipe', 'inherit'], timeout: limitMs },
    killSignal: 'SIGKILL',
  });
  if (error && 'code' in error && error.code === 'ETIMEDOUT') {
    throw new UsageError(
      `tokenCommand prints no token within ${limitMs / 1_000} s; mend it in the context`,
    );
  }
  // Ctrl-C reaches the command, too, and ends both.
  if (signal === 'SIGINT' || status === EXIT_INTERRUPTED) throw new Interrupted();
  if (error || status !== 0) {
    const why = error ? explain(error) : `it ends with ${signal ?? status}`;
    throw new UsageError(`tokenCommand fails: ${why}; mend it in the context`);
  }
  const [first = ''] = stdout.split('\n');
  if (first.trim() !== '') return first.trim();
  throw new UsageError('tokenCommand prints no token; mend it in the context');
}
