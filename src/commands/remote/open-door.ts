import { spawnSync } from 'node:child_process';
import { explain, UsageError } from '../../domain/errors.ts';
import { readContexts, requireContext, type Context } from './contexts.ts';
import type { Door } from './door.ts';
import { EXIT_INTERRUPTED, Interrupted } from './failures.ts';
import { openHttpDoor } from './http-door.ts';

/** Which door a command takes, as flags and environment say. */
export interface DoorFlags {
  readonly url?: string;
  readonly context?: string;
  readonly config?: string;
  readonly databaseUrl?: string;
  /** A token may go over plain http to another machine. */
  readonly allowInsecureHttp?: boolean;
}

/** A door, and how to close it. */
export interface DoorMeans {
  readonly version: string;
  /** Who asks, where the door is the database. */
  readonly by: string;
  readonly say: (text: string) => void;
  /** Nobody is there who could answer a `tokenCommand`, so none is run. */
  readonly isSilent?: boolean;
}

/**
 * The configuration with which a command goes past the console; null: it goes to one.
 * @throws {UsageError} two doors are meant.
 */
export function pastConsole(flags: DoorFlags, env: NodeJS.ProcessEnv = process.env): string | null {
  const { config, url, context } = flags;
  const named = [url, context, config].filter((each) => each !== undefined);
  if (named.length > 1) throw new UsageError('give one of --url, --context and --config');
  if (config !== undefined) return config;
  return url === undefined && context === undefined && !env['SHEPHERD_URL']
    ? env['SHEPHERD_CONFIG'] || null
    : null;
}

/** Said each time that a command goes past the console. */
export const pastText = (file: string): string =>
  `past the console, by the database of ${file}: what only a daemon knows is not told, and who asks is a claim`;

/**
 * Opens the door that is meant: what a flag says, else the environment, else the context.
 * @throws {UsageError} none is meant, or two are.
 */
export async function openDoor(
  flags: DoorFlags,
  means: DoorMeans,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Door> {
  const { url, context, databaseUrl } = flags;
  const file = pastConsole(flags, env);
  if (file !== null) return byDatabase(file, databaseUrl, means);
  if (url !== undefined) return byUrl(url, flags, means, env);
  if (context !== undefined) return byContext(context, flags, means);
  const known = env['SHEPHERD_URL'];
  if (known) return byUrl(known, flags, means, env);
  const { current } = readContexts();
  if (current !== null) return byContext(current, flags, means);
  throw new UsageError(
    'no console is known; "shepherd login URL" makes one known, --url names one, "shepherd sim" ' +
      'starts one with a simulated fleet, and --config FILE goes past it to the database',
  );
}

async function byDatabase(file: string, url: string | undefined, means: DoorMeans): Promise<Door> {
  const { openDatabase } = await import('./open-database.ts');
  means.say(pastText(file));
  return openDatabase({ file, url }, means);
}

/** What goes with an address: the CA of a context with it, and its token, or that of the environment. */
function byUrl(url: string, flags: DoorFlags, means: DoorMeans, env: NodeJS.ProcessEnv): Door {
  const address = addressOf(url);
  const known = Object.values(readContexts().contexts);
  const context = known.find((each) => addressOf(each.url) === address);
  const allowInsecureHttp = flags.allowInsecureHttp || context?.allowInsecureHttp === true;
  const token = env['SHEPHERD_TOKEN'] || (context ? tokenOf(context, means.isSilent) : null);
  const advice = 'see to its daemon, or give another --url; --config FILE goes past it';
  const ca = context?.ca;
  return openHttpDoor({ ...means, url: address, token, advice, allowInsecureHttp, ca });
}

/** A context has its own token; that of the environment may be another console's. */
function byContext(name: string, flags: DoorFlags, means: DoorMeans): Door {
  const found = requireContext(readContexts(), name);
  const token = tokenOf(found, means.isSilent);
  const advice = adviceFor(name, found);
  const allowInsecureHttp = flags.allowInsecureHttp || found.allowInsecureHttp === true;
  const [url, ca] = [addressOf(found.url), found.ca];
  return openHttpDoor({ ...means, url, token, advice, allowInsecureHttp, ca });
}

const adviceFor = (name: string, { simulator }: Context): string =>
  simulator === undefined
    ? `see to its daemon, or choose another with "shepherd context use"; --config FILE goes past it`
    : `the context ${name} was left by a simulator that was killed: "shepherd context remove ${name}"`;

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
