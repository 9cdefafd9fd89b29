import { createHash } from 'node:crypto';
import type { ShellSession, ShellTarget } from '../../src/adapters/ssh/port.ts';
import { codeOf } from '../../src/domain/errors.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { facetsOf } from '../../src/domain/provisioning/provider-holds.ts';
import type { RepairCase } from '../../src/domain/cases.ts';
import type { GuardRow, HoldRow, MachineRow } from '../../src/domain/machine.ts';
import type { RollRow } from '../../src/domain/rolling.ts';
import type {
  MemHistory,
  MemIntent,
  MemMachine,
  MemRequest,
  MemSession,
  MemTables,
  MemWork,
} from '../doubles/mem-bmdb/tables.ts';
import type { PlayedWorld } from '../support/played-world.ts';
import type { Interceptor, PortCall } from './intercept.ts';

/** A call of a port and its outcome. */
export interface RecordedCall extends PortCall {
  /** Name of the daemon that called. */
  readonly by: string;
  /** Address of the machine that a command is for; null: the command is for no machine. */
  readonly host: string | null;
  readonly atMs: number;
  /** Null while the call is under way. */
  endedAtMs: number | null;
  /** Code of the error that the call ended with; null: it succeeded. */
  error: string | null;
  /** Whether the error says for certain that nothing was done. */
  isRefused: boolean;
  result: unknown;
}

/** The rows of one machine at one moment. */
export interface MachineRows {
  readonly row: MachineRow;
  readonly leases: readonly MemWork[];
  readonly permitGrantedAtMs: number | null;
}

interface Before<Row> {
  readonly before: Row | null;
  readonly after: Row | null;
}
/** One call's change to one table. */
export type TableChange =
  | ({ readonly table: 'machine'; readonly machineId: MachineId } & Before<MachineRows>)
  | ({ readonly table: 'session'; readonly sessionId: string } & Before<number>)
  | ({ readonly table: 'intent' } & Before<MemIntent>)
  | ({ readonly table: 'request' } & Before<MemRequest>)
  | ({ readonly table: 'case' } & Before<RepairCase>)
  | ({ readonly table: 'roll' } & Before<RollRow>)
  | ({ readonly table: 'guard'; readonly scope: string } & Before<GuardRow>)
  | ({ readonly table: 'pulse' } & Before<number>)
  | { readonly table: 'history'; readonly line: MemHistory };

/** One event of the run, in order. Every time is the database's clock, epoch ms. */
export type RecordedStep =
  /** A call reaches its port, and nothing is done yet. */
  | { readonly kind: 'call'; readonly atMs: number; readonly call: RecordedCall }
  /** Everything that one call wrote at once. `by` is null when no daemon wrote it. */
  | {
      readonly kind: 'write';
      readonly atMs: number;
      readonly by: string | null;
      readonly call: PortCall;
      readonly changes: readonly TableChange[];
      readonly holds: readonly HoldRow[];
    }
  | { readonly kind: 'answer'; readonly atMs: number; readonly call: RecordedCall }
  /** The clock has moved. This step occurs at most once a minute. */
  | { readonly kind: 'look'; readonly atMs: number }
  | { readonly kind: 'end'; readonly atMs: number };

export type Recorder = ReturnType<typeof createRecorder>;

/** These calls change nothing and are too frequent to report one by one. */
const READS = /^bmdb\.(scan|changesSince|readMachine|events|inspection|sweep\$|wakes)/;
const MINUTE_MS = 60_000;
/** A daemon that makes no database call for this long stands still. */
const STILL_MS = 30_000;
/** The trace is digested in blocks of this many characters, because it has many short lines. */
const HASHED_AT_ONCE = 65_536;
const OUTSIDE: PortCall = { path: 'outside', args: [] };

/** Records every port call of the daemons, every row that they write, and every strike. */
export function createRecorder({ clock, bmdb }: PlayedWorld) {
  const story: string[] = [];
  const listeners: ((step: RecordedStep) => void)[] = [];
  const struck = new Map<string, number>();
  const steady = new Map<string, { sinceMs: number; seenAtMs: number }>();
  const owners = new Map<string, string>();
  const hash = createHash('sha256');
  const differ = createDiffer(bmdb.tables);
  let calmSinceMs = clock.now();
  let lookedAtMs = 0;
  let unhashed = '';
  const write = (line: string) => {
    unhashed += `${clock.monotonic()} ${line}\n`;
    if (unhashed.length < HASHED_AT_ONCE) return;
    hash.update(unhashed);
    unhashed = '';
  };
  const tell = (step: RecordedStep) => {
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
  /** Address for the call that begins at this moment. */
  let host: string | null = null;
  function connected(connection: RecordedCall): ShellSession {
    const session = connection.result as ShellSession;
    const { host: address } = connection;
    const on =
      <Given extends unknown[], Result>(method: (...given: Given) => Result) =>
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
    /** Strikes and other events as lines for people, in order. */
    story: story as readonly string[],
    /** Calls the given function for each later step. */
    listen: (fn: (step: RecordedStep) => void) => void listeners.push(fn),
    of: (by: string): Interceptor => ({
      async around(call, run) {
        write(`${by} ${call.path} ${plain(call.args)}`);
        seen(by, false);
        const recorded: RecordedCall = {
          ...call,
          ...{ by, host: call.path === 'shell.connect' ? hostOf(call) : host },
          ...{
            atMs: clock.now(),
            endedAtMs: null,
            error: null,
            isRefused: false,
            result: undefined,
          },
        };
        const isTold = !READS.test(call.path);
        if (isTold) {
          tellWrites(null, OUTSIDE);
          tell({ kind: 'call', atMs: clock.now(), call: recorded });
        }
        try {
          // The in-memory database does all its work before it returns a promise.
          const running = run();
          if (isTold && call.path.startsWith('bmdb')) tellWrites(by, call);
          recorded.result = await running;
          write(`${by} ${call.path} answered ${plain(recorded.result)}`);
          return call.path === 'shell.connect' ? connected(recorded) : recorded.result;
        } catch (error) {
          recorded.error = codeOf(error);
          recorded.isRefused = facetsOf(error).outcome === 'not-done';
          if (recorded.error === 'unreachable' && call.path.startsWith('bmdb')) seen(by, true);
          write(`${by} ${call.path} failed ${recorded.error}`);
          throw error;
        } finally {
          recorded.endedAtMs = clock.now();
          if (isTold) tell({ kind: 'answer', atMs: clock.now(), call: recorded });
        }
      },
    }),
    /** Reports what was written from outside, and that time has passed. */
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
    /** Time since which the daemon has worked without any trouble that could excuse it. */
    steadySinceMs(daemon: string) {
      const { sinceMs = Infinity, seenAtMs = 0 } = steady.get(daemon) ?? {};
      return clock.now() - seenAtMs > STILL_MS ? Infinity : sinceMs;
    },
    /** Name of the daemon that opened the session. */
    ownerOf: (sessionId: string) => owners.get(sessionId) ?? null,
    /** Last time that a provider refused, lost or delayed a call, or that a fault was injected. */
    calmSinceMs: () => calmSinceMs,
    /** @param hit the struck thing, for people; null: there was nothing to strike. */
    strike(kind: string, hit: string | null) {
      if (hit === null) return;
      calmSinceMs = clock.now();
      const [daemon = ''] = hit.split(/[: ]/);
      if (steady.has(daemon)) seen(daemon, true);
      struck.set(kind, (struck.get(kind) ?? 0) + 1);
      this.note(`${kind}: ${hit}`);
    },
    note(line: string) {
      story.push(`${timeOf(clock.monotonic())} ${line}`);
      write(line);
    },
    struck: (): Readonly<Record<string, number>> =>
      Object.fromEntries([...struck].toSorted(([a], [b]) => a.localeCompare(b))),
    digest: () => hash.copy().update(unhashed).digest('hex'),
  };
}

const hostOf = ({ args: [target] }: PortCall): string => (target as ShellTarget).host;

const rowsOf = ({ row, leases, permitGrantedAtMs }: MemMachine): MachineRows => ({
  ...{ row, leases, permitGrantedAtMs },
});

/** Rows are replaced, never changed in place, so a different object means a write. */
function createDiffer(tables: MemTables): () => TableChange[] {
  const machines = createTableDiffer(rowsOf, isSameMachine);
  const sessions = createTableDiffer(({ deadlineMs }: MemSession) => deadlineMs);
  const [intents, requests, guards] = [
    sameRows<MemIntent>(),
    sameRows<MemRequest>(),
    sameRows<GuardRow>(),
  ];
  const [cases, rolls] = [sameRows<RepairCase>(), sameRows<RollRow>()];
  let pulse: number | null = null;
  let lines = 0;
  return () => {
    const changes: TableChange[] = [];
    machines(tables.machines, (machineId, both) =>
      changes.push({ table: 'machine', machineId: machineId as MachineId, ...both }),
    );
    sessions(tables.sessions, (sessionId, both) =>
      changes.push({ table: 'session', sessionId, ...both }),
    );
    intents(tables.intents, (_, both) => changes.push({ table: 'intent', ...both }));
    requests(tables.requests, (_, both) => changes.push({ table: 'request', ...both }));
    const byId = new Map(tables.cases.map((each) => [each.caseId, each]));
    cases(byId, (_, both) => changes.push({ table: 'case', ...both }));
    rolls(tables.rolls, (_, both) => changes.push({ table: 'roll', ...both }));
    guards(tables.guard.rows, (scope, both) => changes.push({ table: 'guard', scope, ...both }));
    const { seenAtMs } = tables.guard;
    if (seenAtMs !== pulse) changes.push({ table: 'pulse', before: pulse, after: seenAtMs });
    pulse = seenAtMs;
    for (; lines < tables.history.length; lines += 1) {
      changes.push({ table: 'history', line: tables.history[lines]! });
    }
    return changes;
  };
}

const sameRows = <Row extends object>() => createTableDiffer((row: Row) => row, Object.is);

/** Reports each row that differs from the previous call. It runs after each port call. */
function createTableDiffer<Row, Value>(
  valueOf: (row: Row) => Value,
  isSame: (value: Value, row: Row) => boolean = (value, row) => value === valueOf(row),
) {
  const known = new Map<string, Value>();
  return (rows: ReadonlyMap<string, Row>, tell: (key: string, both: Before<Value>) => void) => {
    for (const [key, row] of rows) {
      const before = known.get(key);
      if (before !== undefined && isSame(before, row)) continue;
      const after = valueOf(row);
      known.set(key, after);
      tell(key, { before: before ?? null, after });
    }
    if (known.size === rows.size) return;
    for (const [key, before] of known) {
      if (rows.has(key)) continue;
      known.delete(key);
      tell(key, { before, after: null });
    }
  };
}

const isSameMachine = (rows: MachineRows, now: MemMachine): boolean =>
  rows.row === now.row &&
  rows.leases === now.leases &&
  rows.permitGrantedAtMs === now.permitGrantedAtMs;

/** `h:mm:ss` after the start of the run. */
export const timeOf = (ms: number): string => {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${Math.floor(seconds / 3_600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
};

/** Seconds of the time at the start of a story's line. */
export const secondsOf = (line: string): number =>
  line
    .split(' ', 1)[0]!
    .split(':')
    .reduce((sum, part) => 60 * sum + Number(part), 0);

/** Keeps only ids and plain values: signals, functions and large rows say nothing in a trace. */
function plain(value: unknown): string {
  if (Array.isArray(value)) return value.map(plain).join(' ').slice(0, 500);
  if (isPlain(value)) return String(value);
  if (typeof value !== 'object' || value === null || value instanceof AbortSignal) return '-';
  let text = '';
  for (const [name, each] of Object.entries(value)) if (isPlain(each)) text += `${name}=${each} `;
  return text.slice(0, 500);
}

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
