import type { SessionLine } from '../../src/adapters/bmdb/port.ts';
import type { DaemonsView } from '../../src/console/views.ts';
import { sessionId } from '../../src/domain/ids.ts';
import type { LoopSummary } from '../../src/domain/daemons.ts';
import { AT_MS } from './scripted-fleet.ts';

export const SELF = sessionId('00000000-0000-4000-8000-000000000001');
export const OTHER = sessionId('00000000-0000-4000-8000-000000000002');

/** A live daemon without work that says who it is. */
export const daemon = (change: Partial<SessionLine> = {}): SessionLine => ({
  sessionId: SELF,
  component: 'shepherd',
  runtimeInfo: 'host rack1',
  startedAtMs: AT_MS - 3_600_000.5,
  deadlineAtMs: AT_MS + 50_000.25,
  endedAtMs: null,
  about: {
    ...{ version: '9.9.9', schema: '20251101000890_daemons', roles: ['loops', 'console'] },
    ...{ consoleUrl: 'http://127.0.0.1:4243/', logLevel: 'info' },
  },
  work: [],
  ...change,
});

/** A healthy loop. */
export const loop = (change: Partial<LoopSummary> = {}): LoopSummary => ({
  ...{ name: 'rows', periodMs: 5_000, lastSuccessAtMs: AT_MS - 1_000.5, failure: null, job: null },
  ...change,
});

export const daemonsView = (
  sessions: readonly SessionLine[],
  loops: readonly LoopSummary[] = [],
): DaemonsView => ({
  sessions: async () => ({ atMs: AT_MS, sessions }),
  self: () => SELF,
  loops: () => loops,
  holderOf: (job) => (job.endsWith('rack') ? OTHER : SELF),
});
