import { Command } from 'commander';
import { addConsoleCommands } from '../../src/commands/console-program.ts';
import { addBalancerCommands } from '../../src/commands/lb/program.ts';
import { addMachineCommands } from '../../src/commands/machine-program.ts';
import { addDatabaseCommands } from '../../src/commands/db-program.ts';
import { addFleetCommands, addProviderReading } from '../../src/commands/fleet-program.ts';
import { addCaseCommands } from '../../src/commands/case-program.ts';
import { addLogCommands } from '../../src/commands/log-program.ts';
import { createClient, type Transport } from '../../src/commands/remote/client.ts';
import { exitCodeFor, problemFor } from '../../src/commands/remote/failures.ts';
import { formatOf, type Through } from '../../src/commands/remote/flags.ts';
import { writtenText, type CommandOutput } from '../../src/commands/remote/output.ts';
import type { Session } from '../../src/commands/remote/session.ts';
import { explain, FleetError } from '../../src/domain/errors.ts';

/** What a command wrote, and the code that it ended with. */
export interface CommandResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

export interface RunMeans {
  readonly transport: Transport;
  readonly monotonic: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly signal?: AbortSignal;
  /** Told at once of what is written before the end. */
  readonly onWrite?: (text: string) => void;
  readonly onSay?: (text: string) => void;
  /** Of keys that are made, so many are taken; 0 when absent. */
  readonly keysUsed?: number;
  /** A terminal where the command may draw; absent: there is none. */
  readonly terminal?: NodeJS.WriteStream;
}

/** A console that answers each question as it is told; it streams nothing unless that is told, too. */
export const scriptedTransport = (
  send: Transport['send'],
  more: Partial<Transport> = {},
): Transport => {
  const transport: Transport = {
    where: 'http://127.0.0.1/',
    send,
    stream: () => {
      throw new Error('it streams nothing');
    },
    elsewhere: () => transport,
    ...more,
  };
  return transport;
};

/** Runs a command line in this process, through a transport that is given. */
export async function runThrough(means: RunMeans, args: readonly string[]): Promise<CommandResult> {
  let [stdout, stderr, code, keys] = ['', '', 0, means.keysUsed ?? 0];
  const say = (text: string) => {
    stderr += `shepherd: ${text}\n`;
    means.onSay?.(text);
  };
  const signal = means.signal ?? new AbortController().signal;
  const through: Through = async (flags, task) => {
    const format = formatOf(flags);
    const session: Session = {
      client: createClient(means.transport, signal, () => undefined),
      ...{ format, signal, say, width: 80, paint: (text) => text },
      terminal: means.terminal ?? null,
      ...{ monotonic: means.monotonic, sleep: means.sleep },
      uuid: () => `00000000-0000-4000-8000-${String((keys += 1)).padStart(12, '0')}`,
      write: (text) => {
        stdout += text;
        means.onWrite?.(text);
      },
    };
    try {
      const told = await task(session);
      const text = await writtenText(told, session);
      if (text !== '') stdout += `${text}\n`;
      code = told.exitCode ?? 0;
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      say(format === 'json' ? JSON.stringify(problemFor(error)) : explain(error));
      code = exitCodeFor(error);
    }
  };
  const cli = new Command('shepherd').exitOverride();
  addMachineCommands(cli, through);
  addFleetCommands(cli, through);
  addConsoleCommands(cli, through);
  addCaseCommands(cli, through);
  addLogCommands(cli, through);
  addBalancerCommands(cli, '0.0.0', through);
  addDatabaseCommands(cli, through);
  addProviderReading(cli.command('provider'), through);
  await cli.parseAsync([...args], { from: 'user' });
  return { stdout, stderr, code };
}

/** What a command that goes to no console writes, in a form. */
export const written = (told: CommandOutput, format: 'table' | 'json' = 'table'): Promise<string> =>
  writtenText(told, { format, width: 80, paint: (text) => text });
