import { sleep } from '../../adapters/clock/port.ts';
import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { FleetError, Malformed, explain } from '../../domain/errors.ts';
import { outputWidth, printableLines } from '../layout.ts';
import { programVersion } from '../version.ts';
import { createClient, versionWarning, type Client, type Door } from './client.ts';
import { exitCodeFor, Interrupted, interruptOf, problemFor } from './failures.ts';
import { openDoor } from './contexts.ts';
import { formatOf, type CommonFlags, type Format } from './flags.ts';
import { writeText, type Paint, painting } from './output.ts';

/** What a command works with. */
export interface Session {
  readonly client: Client;
  readonly format: Format;
  /** Columns of a text. */
  readonly width: number;
  readonly isTerminal: boolean;
  readonly paint: Paint;
  /** An interrupt. */
  readonly signal: AbortSignal;
  /** Milliseconds that only grow. */
  readonly monotonic: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly uuid: () => string;
  /** To the standard output, at once. */
  readonly write: (text: string) => void;
  /** A line to the standard error output. */
  readonly say: (text: string) => void;
}

/** What a command has to say at its end, and the code that it ends with. */
export interface Told {
  readonly text: string;
  readonly exitCode: number;
}

export const ok = (text: string): Told => ({ text, exitCode: 0 });

/** A line to the standard error output. */
export const remark = (text: string): void =>
  void process.stderr.write(`shepherd: ${printableLines(text)}\n`);

/** The first interrupt ends the waiting; the second one ends the process. */
function untilInterrupt(): AbortSignal {
  const stopping = new AbortController();
  for (const by of ['SIGINT', 'SIGTERM'] as const) {
    process.once(by, () => stopping.abort(new Interrupted(by)));
  }
  return stopping.signal;
}

/** Runs a command at the console that its flags mean, says what it says, and sets the exit code. */
export async function throughDoor(
  flags: CommonFlags,
  task: (session: Session) => Promise<Told>,
): Promise<void> {
  const signal = untilInterrupt();
  await reporting(flags, async () => {
    const version = programVersion();
    const door = openDoor(flags, { version });
    const format = formatOf(flags);
    const client = createClient(door, signal, versionWarning(version, remark));
    const session: Session = {
      ...{ client, format, signal, say: remark },
      width: outputWidth(process.stdout),
      isTerminal: process.stdout.isTTY === true,
      paint: painting(flags.color),
      monotonic: systemClock.monotonic,
      sleep: (ms) => pause(ms, signal),
      uuid: systemRandom.uuid,
      write: (text) => void process.stdout.write(text),
    };
    const { text, exitCode } = await understood(untilAborted(task(session), signal), client);
    await writeText(text, format);
    process.exitCode = exitCode;
  });
}

/** What breaks because of an interrupt is no bug. @throws {Interrupted} */
async function untilAborted<Result>(task: Promise<Result>, signal: AbortSignal): Promise<Result> {
  try {
    return await task;
  } catch (error) {
    if (!signal.aborted || error instanceof FleetError) throw error;
    throw interruptOf(signal);
  }
}

/**
 * What a console answered may be JSON and make no sense all the same, which is no mistake of this program.
 * Only when something failed are the answers compared with the description of the API.
 * @throws {Malformed}
 */
export async function understood<Result>(
  task: Promise<Result>,
  { door: { where }, taken }: Answered,
): Promise<Result> {
  try {
    return await task;
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    const { isAsDescribed } = await import('./described.ts');
    if (taken.every(isAsDescribed)) throw cause;
    const text = `an answer of ${where} makes no sense here: is it a console of Shepherd, and of this version?`;
    throw new Malformed(text, { cause });
  }
}

interface Answered extends Pick<Client, 'taken'> {
  readonly door: Pick<Door, 'where'>;
}

/** Runs a command, and tells what a person can mend in the form that they asked for. */
export async function reporting(
  flags: Pick<CommonFlags, 'output' | 'json'>,
  task: () => Promise<void>,
): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    if (formatOf({ ...flags, color: 'never' }) === 'json') {
      process.stderr.write(`${JSON.stringify(problemFor(error))}\n`);
    } else remark(explain(error));
    process.exitCode = exitCodeFor(error);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(systemClock, ms, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}
