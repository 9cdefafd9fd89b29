import type { ChildProcess } from 'node:child_process';
import type { ServerChannel } from 'ssh2';
import type { HostsLog } from './options.ts';
import { CommandRefused, startCommand } from './commands.ts';
import type { CommandContext } from './commands.ts';
import { signalProcess } from './processes.ts';

/** One exec request: wires the process to the channel, as OpenSSH does. */
export interface ExecChannel {
  /** Signal without `SIG`, as the protocol names it. */
  signal(name: string): void;
  /** The caller's connection is gone. */
  abandon(): void;
}

/**
 * Runs a command line on the channel. As with OpenSSH, the channel stays open until the outputs are
 * closed, so a program whose detached child keeps stdout leaves its caller hanging; and a caller who
 * leaves takes the pipes away, not the process.
 */
export function runOnChannel(
  line: string,
  channel: ServerChannel,
  context: CommandContext,
  log: HostsLog,
): ExecChannel {
  let child: ChildProcess | undefined;
  let gone = false;
  channel.on('error', (err: Error) => log.debug({ err, line }, 'exec channel broke'));
  const abandon = () => {
    gone = true;
    if (child) dropPipes(child);
  };
  channel.on('close', abandon);
  startCommand(line, context).then(
    (started) => {
      child = started;
      if (gone) dropPipes(child);
      else connectPipes(child, channel, log);
    },
    (error: unknown) => {
      const { message, exitCode = 1 } = error as Partial<CommandRefused> & Error;
      if (!(error instanceof CommandRefused)) log.error({ err: error, line }, 'exec failed');
      finish(channel, `${message}\n`, exitCode);
    },
  );
  return {
    abandon,
    signal(name) {
      if (child?.pid !== undefined) signalProcess(-child.pid, `SIG${name}` as NodeJS.Signals);
    },
  };
}

function connectPipes(child: ChildProcess, channel: ServerChannel, log: HostsLog): void {
  const stdin = child.stdin!;
  // A program may end without having read all it was sent.
  stdin.on('error', (err) => log.debug({ err }, 'stdin was not read to its end'));
  channel.pipe(stdin);
  child.stdout?.pipe(channel, { end: false });
  child.stderr!.pipe(channel.stderr, { end: false });
  child.once('error', (error) => finish(channel, `sh: ${error.message}\n`, 126));
  child.once('close', (code, signal) => finish(channel, '', code ?? signal?.slice(3) ?? 1));
}

function finish(channel: ServerChannel, said: string, status: number | string): void {
  channel.stderr.end(said, () => {
    if (typeof status === 'number') channel.exit(status);
    else channel.exit(status, false, '');
    channel.end();
  });
}

function dropPipes(child: ChildProcess): void {
  for (const stream of child.stdio) stream?.destroy();
  child.unref();
}
