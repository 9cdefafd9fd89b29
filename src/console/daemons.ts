import type { SessionsReading } from '../adapters/bmdb/port.ts';
import type { SessionId } from '../domain/ids.ts';
import type { LoopSummary } from '../domain/daemons.ts';

/** Which daemons there are, and what this one does again and again. */
export interface DaemonsView {
  /** @throws {Unreachable} the database does not answer. */
  sessions(signal: AbortSignal): Promise<SessionsReading>;
  /** The session of the daemon that answers; null: it has none now. */
  self(): SessionId | null;
  loops(): readonly LoopSummary[];
  /** Who has a job that one daemon has at a time; null: nobody, as far as is known. */
  holderOf(job: string): SessionId | null;
}

/** Nobody is known. */
export const NO_DAEMONS: DaemonsView = {
  sessions: async () => ({ atMs: 0, sessions: [] }),
  self: () => null,
  loops: () => [],
  holderOf: () => null,
};
