import { sleep } from '../../adapters/clock/port.ts';
import { systemClock, systemRandom } from '../../adapters/clock/system-clock.ts';
import { FleetError, Malformed, explain } from '../../domain/errors.ts';
import { outputWidth, printableLines } from '../layout.ts';
import { programVersion } from '../version.ts';
import { createClient, watchVersion, type Client, type Transport } from './client.ts';
import { exitCodeFor, Interrupted, interruptOf, problemFor } from './failures.ts';
import { openTransport } from './contexts.ts';
import { formatOf, type CommonFlags, type OutputFlags } from './flags.ts';
import { painting, writeText, writtenText, type Look, type CommandOutput } from './output.ts';

export type { CommandOutput } from './output.ts';

/** The means of a command. */
export interface Session extends Look {
  readonly client: Client;
  /** The standard output, if it is a terminal. */
  readonly terminal: NodeJS.WriteStream | null;
  /** Aborted by SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  /** Monotonic clock, milliseconds. */
  readonly monotonic: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly uuid: () => string;
  /** To the standard output, at once. */
  readonly write: (text: string) => void;
  /** A line to the standard error output. */
  readonly say: (text: string) => void;
}

/** A line to the standard error output. */
export const remark = (text: string): void =>
  void process.stderr.write(`shepherd: ${printableLines(text)}\n`);

/** The first signal ends the wait. The second signal ends the process. */
function untilInterrupt(): AbortSignal {
  const stopping = new AbortController();
  for (const by of ['SIGINT', 'SIGTERM'] as const) {
    process.once(by, () => stopping.abort(new Interrupted(by)));
  }
  return stopping.signal;
}

const lookOf = (flags: OutputFlags): Look => ({
  format: formatOf(flags),
  width: outputWidth(process.stdout),
  paint: painting(flags.color),
});

interface Written {
  readonly text: string;
  readonly exitCode: number;
}

async function write(task: CommandOutput | Promise<CommandOutput>, look: Look): Promise<Written> {
  const told = await task;
  return { text: await writtenText(told, look), exitCode: told.exitCode ?? 0 };
}

async function tell({ text, exitCode }: Written, { format }: Look): Promise<void> {
  await writeText(text, format);
  process.exitCode = exitCode;
}

/** Runs what goes to no console, says what it says, and sets the exit code. */
export const locally = (
  flags: Partial<OutputFlags>,
  task: () => CommandOutput | Promise<CommandOutput>,
): Promise<void> => {
  const { output = 'table', json = false, color = 'auto' } = flags;
  const look = { output, json, color };
  return reporting(look, async () => tell(await write(task(), lookOf(look)), lookOf(look)));
};

/** Runs a command at the console that its flags mean, says what it says, and sets the exit code. */
export async function throughTransport(
  flags: CommonFlags,
  task: (session: Session) => Promise<CommandOutput>,
): Promise<void> {
  const signal = untilInterrupt();
  await reporting(flags, async () => {
    const version = programVersion();
    const transport = openTransport(flags, { version });
    const { see, isOurs } = watchVersion(version, remark);
    const session: Session = {
      ...lookOf(flags),
      ...{ client: createClient(transport, signal, see), signal, say: remark },
      terminal: process.stdout.isTTY === true ? process.stdout : null,
      monotonic: systemClock.monotonic,
      sleep: (ms) => pause(ms, signal),
      uuid: systemRandom.uuid,
      write: (text) => void process.stdout.write(text),
    };
    // An answer of an unexpected form may fail only when it is written.
    const running = untilAborted(write(task(session), session), signal);
    await tell(await understood(running, { where: transport.where, isOurs }), session);
  });
}

/** An error that a signal caused is not a bug. @throws {Interrupted} */
async function untilAborted<Result>(task: Promise<Result>, signal: AbortSignal): Promise<Result> {
  try {
    return await task;
  } catch (error) {
    if (!signal.aborted || error instanceof FleetError) throw error;
    throw interruptOf(signal);
  }
}

/**
 * A TypeError while reading an answer means that the answer has an unexpected form. That is a bug only if the
 * console has the same version.
 * @throws {Malformed}
 */
export async function understood<Result>(
  task: Promise<Result>,
  { where, isOurs }: Pick<Transport, 'where'> & { readonly isOurs: () => boolean },
): Promise<Result> {
  try {
    return await task;
  } catch (cause) {
    if (!(cause instanceof TypeError) || isOurs()) throw cause;
    const text = `a reply of ${where} has an unexpected form; check that it is a console of Shepherd of this version`;
    throw new Malformed(text, { cause });
  }
}

/** Runs a command, and reports expected errors in the wanted format. */
async function reporting(flags: OutputFlags, task: () => Promise<void>): Promise<void> {
  try {
    await task();
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    if (formatOf(flags) === 'json') {
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
