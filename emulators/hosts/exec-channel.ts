import type { ChildProcess } from 'node:child_process';
import type { ServerChannel } from 'ssh2';
import type { HostsLog } from './options.ts';
import { CommandRefused } from './commands.ts';
import type { Play } from './commands.ts';
import { signalProcess } from './processes.ts';

/** One exec request: connects the command to the channel, as OpenSSH does. */
export interface ExecChannel {
  /** Signal name without `SIG`, as in the protocol. */
  signal(name: string): void;
  /** The caller's connection is gone. */
  abandon(): void;
}

/** How a command line runs: as a process or a played command. */
export type Start = (line: string) => Promise<ChildProcess | Play>;

/**
 * Runs a command line on the channel. As with OpenSSH, the channel stays open until the outputs are
 * closed, so a program whose detached child keeps stdout blocks its caller. A caller that leaves
 * closes the pipes, not the process.
 */
export function runOnChannel(
  line: string,
  channel: ServerChannel,
  start: Start,
  log: HostsLog,
): ExecChannel {
  const process = createProcessSide(channel, log);
  channel.on('error', (err: Error) => log.debug({ err, line }, 'exec channel broke'));
  channel.on('close', process.abandon);
  run(line, channel, start, process.use).catch((error: unknown) => {
    const { message, exitCode = 1 } = error as Partial<CommandRefused> & Error;
    if (!(error instanceof CommandRefused)) log.error({ err: error, line }, 'exec failed');
    finish(channel, `${message}\n`, exitCode);
  });
  return { abandon: process.abandon, signal: process.signal };
}

async function run(
  line: string,
  channel: ServerChannel,
  start: Start,
  use: (child: ChildProcess) => void,
): Promise<void> {
  const started = await start(line);
  if (typeof started === 'function') await playOn(channel, started);
  else use(started);
}

/** The caller may leave before the end, and then nobody learns the exit code. */
async function playOn(channel: ServerChannel, play: Play): Promise<void> {
  const { stdout = '', stderr = '', exitCode } = await play(await readInput(channel));
  if (channel.destroyed) return;
  channel.write(stdout);
  finish(channel, stderr, exitCode);
}

/** Reads to the caller's EOF. Iteration would destroy the channel needed for the answer. */
const readInput = (channel: ServerChannel) =>
  new Promise<Buffer>((resolve) => {
    const chunks: Buffer[] = [];
    channel.on('data', (chunk: Buffer) => chunks.push(chunk));
    channel.once('end', () => resolve(Buffer.concat(chunks)));
  });

/** The real process behind the channel, once it exists. */
function createProcessSide(channel: ServerChannel, log: HostsLog) {
  let child: ChildProcess | undefined;
  let gone = false;
  return {
    use(started: ChildProcess) {
      child = started;
      if (gone) dropPipes(child);
      else connectPipes(child, channel, log);
    },
    abandon() {
      gone = true;
      if (child) dropPipes(child);
    },
    signal(name: string) {
      if (child?.pid !== undefined) signalProcess(-child.pid, `SIG${name}` as NodeJS.Signals);
    },
  };
}

function connectPipes(child: ChildProcess, channel: ServerChannel, log: HostsLog): void {
  const stdin = child.stdin!;
  // A program may end before it has read everything.
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
