import type { Readable } from 'node:stream';
import type { Client, ClientChannel } from 'ssh2';
import { CommandFailed, RemoteFailure, Unreachable } from '../../domain/errors.ts';
import { visibleText } from '../../lib/texts.ts';
import { outputBytesMax } from './limits.ts';

/** A command that ended; `exitCode` is null if a signal ended it. */
export interface Finished {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number | null;
  readonly signalName: string | undefined;
}

/**
 * Runs `command` with `stdin`, then EOF; chunks are read once the command has started, each when
 * the machine has taken the previous ones. A non-zero exit is a result here, not an error.
 * @throws {RemoteFailure} the command was not accepted, or its output exceeded the cap.
 * @throws {Unreachable} the channel closed without an exit status.
 */
export function exec(
  client: Client,
  command: string,
  stdin: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<Finished> {
  return new Promise((resolve, reject) => {
    client.exec(command, (cause, channel) => {
      if (cause) return reject(new RemoteFailure('the command was not accepted', { cause }));
      // Attach listeners in this very tick: a fast command's exit arrives in the same packet as the
      // channel itself. After an intermediate promise, the exit would be missed and the wait would
      // never end.
      collectChannel(channel, resolve, reject);
      if (stdin instanceof Uint8Array) return void channel.end(stdin);
      // If the input fails, the command gets its end of input at once, and says what it lacks.
      const end = () => void channel.end();
      feed(channel, stdin).then(end, end);
    });
  });
}

async function feed(channel: ClientChannel, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) await new Promise((taken) => channel.write(chunk, taken));
}

function collectChannel(
  channel: ClientChannel,
  resolve: (finished: Finished) => void,
  reject: (error: Error) => void,
): void {
  let exit: { code: number | null; signalName: string | undefined } | undefined;
  const kill = () => {
    channel.signal('KILL');
    channel.destroy();
    reject(new RemoteFailure(`more than ${outputBytesMax} bytes of output`));
  };
  const stdout = collectOutput(channel, kill);
  const stderr = collectOutput(channel.stderr, kill);
  channel.on('error', reject);
  channel.on('exit', (code: number | null, signalName?: string) => {
    exit = { code, signalName };
  });
  let open = 2;
  const closed = () => {
    if (--open > 0) return;
    if (!exit) return reject(new Unreachable('the command ended without an exit status'));
    resolve({
      stdout: stdout(),
      stderr: stderr(),
      exitCode: exit.code,
      signalName: exit.signalName,
    });
  };
  channel.once('close', closed);
  channel.stderr.once('close', closed);
}

function collectOutput(stream: Readable, tooMuch: () => void): () => Buffer {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (sizeBytes > outputBytesMax) return;
    sizeBytes += chunk.length;
    if (sizeBytes > outputBytesMax) {
      chunks.length = 0;
      tooMuch();
    } else {
      chunks.push(chunk);
    }
  });
  return () => Buffer.concat(chunks);
}

/** @throws {CommandFailed} if the exit status is not 0; the message quotes stderr. */
export function assertSuccess(finished: Finished, command: string): void {
  const { exitCode, signalName, stderr } = finished;
  if (exitCode === 0) return;
  const how = exitCode === null ? `was killed by ${signalName}` : `exited with ${exitCode}`;
  const said = excerpt(stderr);
  throw new CommandFailed(`"${command}" ${how}${said && `: ${said}`}`, finished);
}

const excerptChars = 400;
/** End of the output on one line: the cause is usually last in stderr. */
export const excerpt = (text: Buffer) =>
  visibleText(text.toString('utf8').replaceAll(/\s+/g, ' ').trim().slice(-excerptChars));
