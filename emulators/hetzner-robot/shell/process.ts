import type { Files } from './files.ts';
import type { Command } from './syntax.ts';

/** Where a command reads from. One character for each byte. */
export interface Input {
  /** All that is left. */
  rest(): Promise<string>;
  /** With its line end; undefined: there is none left. */
  line(): Promise<string | undefined>;
}
export type Output = (text: string) => void;

/** What a program has open. */
export interface Streams {
  readonly input: Input;
  readonly output: Output;
  readonly errors: Output;
}

/** The machine that a shell runs on. */
export interface Host {
  readonly files: Files;
  /** Aborted when the power goes or the machine boots anew: everything ends. */
  readonly signal: AbortSignal;
  hostname(): string;
  setHostname(name: string): void;
  /** Epoch milliseconds. */
  now(): number;
  /** Rejects when the machine ends. `ms` are the machine's own. */
  sleep(ms: number): Promise<void>;
  /** Waits for something else that goes on by itself. */
  apart<T>(work: Promise<T>): Promise<T>;
  /** Programs beside the usual ones. */
  readonly programs: Readonly<Record<string, Program>>;
  /** Runs on after its caller. */
  background(work: Promise<unknown>): void;
}

/** One running program or shell. */
export interface Process extends Streams {
  readonly host: Host;
  readonly name: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly umask: number;
}

/** Answers the exit status. */
export type Program = (process: Process, run: Runner) => Promise<number> | number;

/** Runs a program by its words, as `exec` does. */
export type Runner = (
  argv: readonly string[],
  changes?: Partial<Pick<Process, 'host' | 'directory' | 'environment'> & Streams>,
) => Promise<number>;

/** What a shell knows while it runs. */
export interface ShellState {
  readonly host: Host;
  readonly variables: Map<string, string>;
  readonly exported: Set<string>;
  readonly functions: Map<string, Command>;
  name: string;
  args: readonly string[];
  directory: string;
  umask: number;
  status: number;
  exitsOnError: boolean;
  failsOnUnset: boolean;
  /** The status of a pipeline is that of its last part that failed. */
  failsInPipes: boolean;
  traces: boolean;
  /** What to do at the end. */
  trap: string | null;
  /** Of the command that was last sent to the background. */
  lastJob: number;
  readonly jobs: Map<number, Promise<number>>;
}

export const emptyInput: Input = { rest: async () => '', line: async () => undefined };

export function textInput(text: string): Input {
  let left = text;
  return {
    async rest() {
      const all = left;
      left = '';
      return all;
    },
    async line() {
      if (left === '') return undefined;
      const end = left.indexOf('\n');
      const line = end < 0 ? left : left.slice(0, end + 1);
      left = left.slice(line.length);
      return line;
    },
  };
}

/** Bytes as text, one character for each. */
export const bytesToText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
export const textToBytes = (text: string): Buffer => Buffer.from(text, 'latin1');
/** What is written in this file's own language may hold any character. */
export const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');
