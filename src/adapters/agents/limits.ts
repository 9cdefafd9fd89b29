import { KEYS_MAX, type Rate } from '../../lib/rate-limit.ts';
import type { StrangerLimits } from '../../domain/strangers.ts';
import type { Clock } from '../clock/port.ts';

/** What one caller may cost us. */
export interface AgentServerLimits extends StrangerLimits {
  /** Of one message. */
  readonly messageBytes: number;
  /** From the first byte of a call to its answer, however slowly it is sent. */
  readonly callMs: number;
  readonly connectionsMax: number;
  /** Calls in a row that may be refused on one connection before it is ended. */
  readonly refusedCallsMax: number;
  /** Calls of one connection that its peer takes back. */
  readonly resets: Rate;
  /** Calls with one client key. */
  readonly callsPerKey: Rate;
  /** Calls of one address that end UNAUTHENTICATED; beyond, its next ones are refused unread. */
  readonly refusalsPerAddress: Rate;
  /** Heartbeats that wait for the database. */
  readonly waitingMax: number;
  /** How long a refusal is remembered. */
  readonly refusalMs: number;
  /** How long a connection may be open before an agent of ours was heard on it. */
  readonly strangerMs: number;
  /** How long nothing may come on a connection of an agent; it is ended after twice this at most. */
  readonly idleMs: number;
  /** What agents, each by its key, have us hold in memory at once. */
  readonly agentBytes: Room;
  /** The same of callers that are no agents as far as we know, each by its address. */
  readonly strangerBytes: Room;
  /**
   * What a connection may hold before any of it counts as a stranger's. A heartbeat without a
   * hardware report fits, so no crowd of strangers keeps out an agent that is not known yet.
   */
  readonly connectionBytes: number;
}

/** How many bytes all may take, and how many each of them. */
export interface Room {
  readonly all: number;
  readonly each: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const defaultLimits: AgentServerLimits = {
  messageBytes: 4 * MIB,
  callMs: 15_000,
  connectionsMax: 50_000,
  connects: { perSecond: 50, burst: 400 },
  strangersMax: 2_000,
  strangersPerAddress: 500,
  refusedCallsMax: 50,
  resets: { perSecond: 5, burst: 50 },
  callsPerKey: { perSecond: 5, burst: 60 },
  refusalsPerAddress: { perSecond: 200, burst: 2_000 },
  waitingMax: 20_000,
  refusalMs: 5_000,
  strangerMs: 20_000,
  // Agents keep their connection between heartbeats, which may be a few minutes apart.
  idleMs: 10 * 60_000,
  agentBytes: { all: 256 * MIB, each: 8 * MIB },
  strangerBytes: { all: 64 * MIB, each: 8 * MIB },
  // Less than what TLS and HTTP/2 hold for a connection.
  connectionBytes: 16 * KIB,
};

/** Remembers keys for a fixed time from when they were added first. */
export interface RecentSet {
  add(key: string): void;
  has(key: string): boolean;
  delete(key: string): void;
}

export function createRecentSet(keepMs: number, clock: Clock): RecentSet {
  // All are kept equally long, so insertion order is the order they end in.
  const endsAtMs = new Map<string, number>();
  const dropOld = () => {
    for (const [key, endMs] of endsAtMs) {
      if (endMs > clock.monotonic() && endsAtMs.size < KEYS_MAX) return;
      endsAtMs.delete(key);
    }
  };
  return {
    add(key) {
      dropOld();
      if (!endsAtMs.has(key)) endsAtMs.set(key, clock.monotonic() + keepMs);
    },
    has: (key) => (endsAtMs.get(key) ?? -Infinity) > clock.monotonic(),
    delete: (key) => void endsAtMs.delete(key),
  };
}

/** Bytes that are held for callers; what one of them took must be given back. */
export interface ByteRoom<Caller> {
  enter(caller: Caller): Stay;
}

/** What one call holds. */
export interface Stay {
  /** Takes so many more if there is room for them. */
  take(bytes: number): boolean;
  /** Gives back all that was taken. Call once. */
  leave(): void;
}

/** Takes from the first that has room. */
export const firstOf = (...stays: readonly Stay[]): Stay => ({
  take: (bytes) => stays.some((stay) => stay.take(bytes)),
  leave: () => stays.forEach((stay) => stay.leave()),
});

export function createByteRoom<Caller>({ all, each }: Room): ByteRoom<Caller> {
  const taken = new Map<Caller, number>();
  let sum = 0;
  const change = (caller: Caller, bytes: number) => {
    const left = (taken.get(caller) ?? 0) + bytes;
    if (left === 0) taken.delete(caller);
    else taken.set(caller, left);
    sum += bytes;
  };
  return {
    enter(caller) {
      let own = 0;
      return {
        take(bytes) {
          if (sum + bytes > all || (taken.get(caller) ?? 0) + bytes > each) return false;
          change(caller, bytes);
          own += bytes;
          return true;
        },
        leave: () => change(caller, -own),
      };
    },
  };
}
