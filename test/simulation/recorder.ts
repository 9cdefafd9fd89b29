import { createHash } from 'node:crypto';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { codeOf } from '../../src/domain/errors.ts';
import type { Interceptor, PortCall } from './intercept.ts';

/** A call of a port and what came of it. */
export interface RecordedCall extends PortCall {
  /** Name of the daemon that called. */
  readonly by: string;
  readonly atMs: number;
  /** Null while it is under way. */
  endedAtMs: number | null;
  /** Code of the error that it ended with; null: it succeeded. */
  error: string | null;
  result: unknown;
}

/** Remembers everything that daemons ask of their ports, and what was done to the world. */
export interface Recorder {
  readonly calls: readonly RecordedCall[];
  /** Lines for people: strikes and what else happened, in their order. */
  readonly story: readonly string[];
  of(daemon: string): Interceptor;
  /** @param hit what was struck, for people; null: there was nothing to strike. */
  strike(kind: string, hit: string | null): void;
  note(line: string): void;
  struck(): Readonly<Record<string, number>>;
  digest(): string;
}

/** Reads come too often to be kept one by one. */
const READS = /^bmdb\.(scan|changesSince|readMachine|session\.poke|events|inspection)/;

export function createRecorder(clock: Clock): Recorder {
  const calls: RecordedCall[] = [];
  const story: string[] = [];
  const struck = new Map<string, number>();
  const hash = createHash('sha256');
  const write = (line: string) => hash.update(`${clock.monotonic()} ${line}\n`);
  return {
    calls,
    story,
    of: (by) => ({
      async around(call, run) {
        write(`${by} ${call.path} ${plain(call.args)}`);
        const recorded: RecordedCall = {
          ...call,
          ...{ by, atMs: clock.monotonic(), endedAtMs: null, error: null, result: undefined },
        };
        if (!READS.test(call.path)) calls.push(recorded);
        try {
          recorded.result = await run();
          write(`${by} ${call.path} answered ${plain(recorded.result)}`);
          return recorded.result;
        } catch (error) {
          recorded.error = codeOf(error);
          write(`${by} ${call.path} failed ${recorded.error}`);
          throw error;
        } finally {
          recorded.endedAtMs = clock.monotonic();
        }
      },
    }),
    strike(kind, hit) {
      if (hit === null) return;
      struck.set(kind, (struck.get(kind) ?? 0) + 1);
      this.note(`${kind}: ${hit}`);
    },
    note(line) {
      story.push(`${timeOf(clock.monotonic())} ${line}`);
      write(line);
    },
    struck: () => Object.fromEntries([...struck].toSorted(([a], [b]) => a.localeCompare(b))),
    digest: () => hash.copy().digest('hex'),
  };
}

/** `h:mm:ss` after the start of the run. */
export const timeOf = (ms: number): string => {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
};

/** Ids and plain values alone: signals, functions and large rows say nothing in a trace. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(' ').slice(0, 500);
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
    return String(value);
  }
  if (typeof value !== 'object' || value === null || value instanceof AbortSignal) return '-';
  const fields = Object.entries(value).filter(([, each]) =>
    ['string', 'number', 'boolean'].includes(typeof each),
  );
  return JSON.stringify(Object.fromEntries(fields)).slice(0, 500);
}
