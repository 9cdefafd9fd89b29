import { z } from 'zod';
import type { Clock } from '../../adapters/clock/port.ts';
import type { LoopSummary } from '../../domain/daemons.ts';
import type { DaemonsView } from '../views.ts';
import type { FleetView } from '../port.ts';
import { sharedLook, read, type Api } from './kit.ts';
import { listOf, Milliseconds, named, text } from './schemas.ts';

export const SessionSchema = named(
  'Session',
  z.object({
    sessionId: text,
    isSelf: z.boolean().describe('True for the answering daemon.'),
    component: text.describe('`shepherd` for a daemon; otherwise the name of a running command.'),
    runtimeInfo: text.describe('The host, such as `host rack7`, or the purpose of the session.'),
    host: text.nullable().describe('Null: not reported.'),
    startedAtMs: Milliseconds,
    deadlineAtMs: Milliseconds.nullable().describe(
      'The session expires at this time unless the daemon renews it. Null: it has ended.',
    ),
    endedAtMs: Milliseconds.nullable().describe('Null: the session is alive.'),
    version: text.nullable().describe('Null, like the next four fields: not reported.'),
    schema: text.nullable().describe('Newest schema migration of its program.'),
    roles: listOf(text)
      .nullable()
      .describe('Roles of the daemon: the parts of the program that it runs.'),
    consoleUrl: text.nullable(),
    logLevel: text
      .nullable()
      .describe('The configured level; `log/level` also lists temporary changes.'),
    work: listOf(z.object({ process: text, machines: z.int() })).describe(
      'Number of machines that it works on, by process.',
    ),
  }),
);

export const SessionsSchema = z.object({
  atMs: Milliseconds.describe('When the sessions were read.'),
  sessions: listOf(SessionSchema).describe(
    'Live sessions, oldest first; then up to 200 sessions that ended within a day, latest first.',
  ),
});

const Whole = z.number().overwrite(Math.round).int();

export const LoopSchema = named(
  'Loop',
  z.object({
    name: text.describe('The repeated job and its subject, such as `listing equinix`.'),
    periodMs: Whole,
    lastSuccessAtMs: Milliseconds.nullable().describe('Null: no success since the daemon started.'),
    failure: z
      .object({ count: z.int(), lastAtMs: Milliseconds, cause: text })
      .nullable()
      .describe('Failures since the last success.'),
    doneBy: text
      .nullable()
      .describe('Session of the other daemon that does this job. Null: this daemon does it.'),
    isLate: z
      .boolean()
      .describe('This daemon does the job, and the last success is more than three periods ago.'),
  }),
);
const LoopsSchema = z.object({
  atMs: Milliseconds,
  sessionId: text.nullable().describe('Session of the answering daemon. The loops are its loops.'),
  loops: listOf(LoopSchema),
});

/** Kept this long, because it reads all work. */
const FRESH_MS = 3_000;

export interface DaemonsDeps {
  readonly daemons: DaemonsView;
  readonly fleet: Pick<FleetView, 'nowMs'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** `sessions`, `loops`: the daemons, and the loops of the daemon that answers. */
export function addDaemons(api: Api, { daemons, fleet, clock }: DaemonsDeps): void {
  const look = sharedLook(clock, FRESH_MS, (signal) => daemons.sessions(signal));
  api.get(
    '/sessions',
    read(
      'console',
      'Sessions of daemons and commands: live ones, and those that ended within a day',
      SessionsSchema,
    ),
    async () => {
      const { atMs, sessions } = await look();
      const self = daemons.self();
      return {
        atMs,
        sessions: sessions.map(({ about, ...line }) => ({
          ...{ ...line, ...about, isSelf: line.sessionId === self },
          host: /^host (.+)$/.exec(line.runtimeInfo)?.[1] ?? null,
        })),
      };
    },
  );
  api.get(
    '/loops',
    read(
      'console',
      'The loops of the answering daemon, with their last success and failures',
      LoopsSchema,
    ),
    async () => {
      const nowMs = fleet.nowMs();
      const self = daemons.self();
      const loops = daemons.loops().map((loop) => {
        const holder = loop.job === null ? null : daemons.holderOf(loop.job);
        const doneBy = holder === self ? null : holder;
        return { ...loop, doneBy, isLate: doneBy === null && isOld(loop, nowMs) };
      });
      return { atMs: nowMs, sessionId: self, loops };
    },
  );
}

/** A loop may be late for a moment without a fault. */
const LATE_PERIODS = 3;
const LATE_MIN_MS = 10_000;

function isOld({ periodMs, lastSuccessAtMs, failure }: LoopSummary, nowMs: number): boolean {
  const patienceMs = Math.max(LATE_MIN_MS, LATE_PERIODS * periodMs);
  return lastSuccessAtMs === null ? failure !== null : nowMs - lastSuccessAtMs > patienceMs;
}
