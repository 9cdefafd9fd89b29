import { createHash } from 'node:crypto';
import type { ShellSession, ShellTarget } from '../../src/adapters/ssh/port.ts';
import { codeOf } from '../../src/domain/errors.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import type { GuardRow, HoldRow, MachineRow } from '../../src/domain/machine.ts';
import type {
  MemHistory,
  MemIntent,
  MemMachine,
  MemRequest,
  MemTables,
  MemWork,
} from '../doubles/mem-bmdb/tables.ts';
import type { PlayedWorld } from '../support/played-world.ts';
import type { Interceptor, PortCall } from './intercept.ts';

/** A call of a port and what came of it. */
export interface RecordedCall extends PortCall {
  /** Name of the daemon that called. */
  readonly by: string;
  /** Address of the machine that a command is for; null: it is for none. */
  readonly host: string | null;
  readonly atMs: number;
  /** Null while it is under way. */
  endedAtMs: number | null;
  /** Code of the error that it ended with; null: it succeeded. */
  error: string | null;
  result: unknown;
}

/** The rows of one machine, as they stood at some moment. */
export interface MachineRows {
  readonly row: MachineRow;
  readonly leases: readonly MemWork[];
  readonly permitGrantedAtMs: number | null;
}

interface Before<Row> {
  readonly before: Row | null;
  readonly after: Row | null;
}
/** What one call changed in one table. */
export type Change =
  | ({ readonly table: 'machine'; readonly machineId: MachineId } & Before<MachineRows>)
  | ({ readonly table: 'session'; readonly sessionId: string } & Before<number>)
  | ({ readonly table: 'intent' } & Before<MemIntent>)
  | ({ readonly table: 'request' } & Before<MemRequest>)
  | ({ readonly table: 'guard'; readonly scope: string } & Before<GuardRow>)
  | ({ readonly table: 'pulse' } & Before<number>)
  | { readonly table: 'history'; readonly line: MemHistory };

/** What happened, in its order. Every time is the database's clock, epoch ms. */
export type Step =
  /** A call that reaches its port; nothing is done yet. */
  | { readonly kind: 'call'; readonly atMs: number; readonly call: RecordedCall }
  /** All that one call wrote, at once. `by` null: it came from outside of all daemons. */
  | {
      readonly kind: 'write';
      readonly atMs: number;
      readonly by: string | null;
      readonly call: PortCall;
      readonly changes: readonly Change[];
      readonly holds: readonly HoldRow[];
    }
  | { readonly kind: 'answer'; readonly atMs: number; readonly call: RecordedCall }
  /** The clock has moved; at most once in a minute. */
  | { readonly kind: 'look'; readonly atMs: number }
  | { readonly kind: 'end'; readonly atMs: number };

/** Records every call that daemons make on their ports, every row they write, and every strike. */
export interface Recorder {
  /** Lines for people: strikes and what else happened, in their order. */
  readonly story: readonly string[];
  /** The given function is told of each step from now on. */
  listen(fn: (step: Step) => void): void;
  of(daemon: string): Interceptor;
  /** Time has passed: tells what was written from outside, and that it is time to look. */
  look(): void;
  end(): void;
  /** The daemon that opened the session. */
  ownerOf(sessionId: string): string | null;
  /** Since when the daemon has been at work without any trouble that could excuse it. */
  steadySinceMs(daemon: string): number;
  /** Since when no provider has refused, lost or delayed a call; and nothing was struck. */
  calmSinceMs(): number;
  /** @param hit what was struck, for people; null: there was nothing to strike. */
  strike(kind: string, hit: string | null): void;
  note(line: string): void;
  struck(): Readonly<Record<string, number>>;
  digest(): string;
}

/** These change nothing and come too often to be told one by one. */
const READS = /^bmdb\.(scan|changesSince|readMachine|events|inspection|sweep\$|wakes)/;
const MINUTE_MS = 60_000;
/** A daemon that asks nothing of its database for so long stands still. */
const STILL_MS = 30_000;
const OUTSIDE: PortCall = { path: 'outside', args: [] };

export function createRecorder({ clock, bmdb }: PlayedWorld): Recorder {
  const story: string[] = [];
  const listeners: ((step: Step) => void)[] = [];
  const struck = new Map<string, number>();
  const steady = new Map<string, { sinceMs: number; seenAtMs: number }>();
  const owners = new Map<string, string>();
  const hash = createHash('sha256');
  const differ = createDiffer(bmdb.tables);
  let calmSinceMs = clock.now();
  let lookedAtMs = 0;
  const write = (line: string) => hash.update(`${clock.monotonic()} ${line}\n`);
  const tell = (step: Step) => {
    for (const listener of listeners) listener(step);
  };
  function tellWrites(by: string | null, call: PortCall) {
    const changes = differ();
    for (const each of changes) {
      if (each.table === 'session' && by && each.before === null) owners.set(each.sessionId, by);
    }
    const { holds } = bmdb.tables;
    if (changes.length > 0) {
      tell({ kind: 'write', atMs: clock.now(), by, call, changes, holds });
    }
  }
  function seen(by: string, isTrouble: boolean) {
    const atMs = clock.now();
    const known = steady.get(by);
    const isNew = !known || isTrouble || atMs - known.seenAtMs > STILL_MS;
    steady.set(by, { sinceMs: isNew ? atMs : known.sinceMs, seenAtMs: atMs });
  }
  /** Address for the call that begins at this very moment. */
  let host: string | null = null;
  function connected(connection: RecordedCall): ShellSession {
    const session = connection.result as ShellSession;
    const { host: address } = connection;
    const on =
      <Given extends unknown[], Answer>(method: (...given: Given) => Answer) =>
      (...given: Given) => {
        host = address;
        const answer = method(...given);
        host = null;
        return answer;
      };
    return {
      ...session,
      upload: on(session.upload),
      execute: on(session.execute),
      close() {
        const call = { ...connection, path: 'shell.close', args: [connection] };
        tell({ kind: 'call', atMs: clock.now(), call });
        session.close();
      },
    };
  }
  return {
    story,
    listen: (fn) => void listeners.push(fn),
    of: (by) => ({
      async around(call, run) {
        write(`${by} ${call.path} ${plain(call.args)}`);
        seen(by, false);
        const recorded: RecordedCall = {
          ...call,
          ...{ by, host: call.path === 'shell.connect' ? hostOf(call) : host },
          ...{ atMs: clock.now(), endedAtMs: null, error: null, result: undefined },
        };
        const isTold = !READS.test(call.path);
        tellWrites(null, OUTSIDE);
        if (isTold) tell({ kind: 'call', atMs: clock.now(), call: recorded });
        try {
          // The database in memory does all its work before it returns a promise.
          const running = run();
          tellWrites(by, call);
          recorded.result = await running;
          write(`${by} ${call.path} answered ${plain(recorded.result)}`);
          return call.path === 'shell.connect' ? connected(recorded) : recorded.result;
        } catch (error) {
          recorded.error = codeOf(error);
          if (recorded.error === 'unreachable' && call.path.startsWith('bmdb')) seen(by, true);
          write(`${by} ${call.path} failed ${recorded.error}`);
          throw error;
        } finally {
          recorded.endedAtMs = clock.now();
          if (isTold) tell({ kind: 'answer', atMs: clock.now(), call: recorded });
        }
      },
    }),
    look() {
      const atMs = clock.now();
      if (atMs - lookedAtMs < MINUTE_MS) return;
      lookedAtMs = atMs;
      tellWrites(null, OUTSIDE);
      tell({ kind: 'look', atMs });
    },
    end() {
      tellWrites(null, OUTSIDE);
      tell({ kind: 'end', atMs: clock.now() });
    },
    steadySinceMs(daemon) {
      const { sinceMs = Infinity, seenAtMs = 0 } = steady.get(daemon) ?? {};
      return clock.now() - seenAtMs > STILL_MS ? Infinity : sinceMs;
    },
    ownerOf: (sessionId) => owners.get(sessionId) ?? null,
    calmSinceMs: () => calmSinceMs,
    strike(kind, hit) {
      if (hit === null) return;
      calmSinceMs = clock.now();
      const [daemon = ''] = hit.split(/[: ]/);
      if (steady.has(daemon)) seen(daemon, true);
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

const hostOf = ({ args: [target] }: PortCall): string => (target as ShellTarget).host;

const rowsOf = ({ row, leases, permitGrantedAtMs }: MemMachine): MachineRows => ({
  ...{ row, leases, permitGrantedAtMs },
});

/** Rows are replaced, never changed in place: whatever is another object was written. */
function createDiffer(tables: MemTables): () => Change[] {
  const known = new Map<unknown, unknown>();
  let lines = 0;
  const compare = <Value>(key: unknown, now: Value | null, isSame = Object.is) => {
    const before = (known.get(key) ?? null) as Value | null;
    if (isSame(before, now)) return null;
    if (now === null) known.delete(key);
    else known.set(key, now);
    return { before, after: now };
  };
  const isSameMachine = (a: unknown, b: unknown) => {
    const [one, other] = [a, b] as (MachineRows | null)[];
    return (
      one?.row === other?.row &&
      one?.leases === other?.leases &&
      one?.permitGrantedAtMs === other?.permitGrantedAtMs
    );
  };
  const gone = new Map<string, Set<string>>();
  /** Compares the rows of a table that are there, and those that were. */
  function* all<Row, Value>(
    table: string,
    rows: ReadonlyMap<string, Row>,
    valueOf: (row: Row) => Value,
    isSame?: (a: unknown, b: unknown) => boolean,
  ) {
    const before = gone.get(table) ?? new Set<string>();
    gone.set(table, before);
    for (const [key, row] of rows) {
      const found = compare(`${table} ${key}`, valueOf(row), isSame);
      if (found) yield { key, ...found };
      before.add(key);
    }
    if (before.size === rows.size) return;
    for (const key of before) {
      if (rows.has(key)) continue;
      before.delete(key);
      yield { key, ...compare<Value>(`${table} ${key}`, null)! };
    }
  }
  return () => {
    const changes: Change[] = [];
    for (const { key, ...both } of all('machine', tables.machines, rowsOf, isSameMachine)) {
      changes.push({ table: 'machine', machineId: key as MachineId, ...both });
    }
    for (const { key, ...both } of all('session', tables.sessions, (each) => each.deadlineMs)) {
      changes.push({ table: 'session', sessionId: key, ...both });
    }
    const same = <Row>(row: Row) => row;
    for (const { before, after } of all('intent', tables.intents, same)) {
      changes.push({ table: 'intent', before, after });
    }
    for (const { before, after } of all('request', tables.requests, same)) {
      changes.push({ table: 'request', before, after });
    }
    for (const { key, ...both } of all('guard', tables.guard.rows, same)) {
      changes.push({ table: 'guard', scope: key, ...both });
    }
    const pulse = compare('pulse', tables.guard.seenAtMs);
    if (pulse) changes.push({ table: 'pulse', ...pulse });
    for (; lines < tables.history.length; lines += 1) {
      changes.push({ table: 'history', line: tables.history[lines]! });
    }
    return changes;
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
