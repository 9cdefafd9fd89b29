import { createInterface } from 'node:readline';
import type { Clock, Random } from '../../adapters/clock/port.ts';
import type { Network } from '../../adapters/network/port.ts';

/** Who gives a command, and what it runs with. */
export interface Operator {
  /** Where answers come from; only a terminal is asked. */
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  /** One line of the result, on standard output. */
  say(line: string): void;
  /** One line for people: progress, questions and warnings. */
  note(line: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** How the API is reached; TCP and TLS if absent. */
  readonly network?: Network;
  readonly random: Random;
  /** Slots of the machines that the BMDB of a configuration knows, by the ids of their devices. */
  machinesOf(configFile: string): Promise<ReadonlyMap<string, string>>;
  /** Aborts when the operator wants an end. */
  readonly signal: AbortSignal;
}

/** A line that the operator types; null at the end of the input or at an interrupt. */
export async function ask(
  { input, note, signal }: Operator,
  question: string,
): Promise<string | null> {
  if (signal.aborted || ('readableEnded' in input && input.readableEnded)) return null;
  const lines = createInterface({ input, terminal: false });
  const answer = Promise.withResolvers<string | null>();
  const giveUp = () => answer.resolve(null);
  lines.once('line', answer.resolve);
  lines.once('close', giveUp);
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    note(question);
    return await answer.promise;
  } finally {
    signal.removeEventListener('abort', giveUp);
    lines.close();
  }
}
