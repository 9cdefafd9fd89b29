import type { SessionId } from '../../domain/ids.ts';

/** What a session tells of its daemon. */
export interface DaemonAbout {
  readonly version: string;
  /** Newest migration that the program knows. */
  readonly schema: string;
  /** Parts of the program that run. */
  readonly roles: readonly string[];
  /** Where browsers find its console; null: it has none. */
  readonly consoleUrl: string | null;
  /** Least level of what it logs. */
  readonly logLevel: string;
}

/** A session, alive or ended within a day. Times are epoch ms of the database clock. */
export interface SessionLine {
  readonly sessionId: SessionId;
  readonly component: string;
  /** Such as `host rack7`. */
  readonly runtimeInfo: string;
  readonly startedAtMs: number;
  /** When it dies unless it is extended; null: it has ended. */
  readonly deadlineAtMs: number | null;
  /** Null: it is alive. */
  readonly endedAtMs: number | null;
  /** Each null where the program does not say. */
  readonly about: { readonly [Name in keyof DaemonAbout]: DaemonAbout[Name] | null };
  /** Machines that it works on, by process. */
  readonly work: readonly { readonly process: string; readonly machines: number }[];
}

export interface SessionsReading {
  readonly atMs: number;
  /** Live ones first, each by when they began; of those that ended the latest 200. */
  readonly sessions: readonly SessionLine[];
}
