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
    isSelf: z.boolean().describe('The daemon that answers.'),
    component: text.describe('`shepherd`: a daemon; else a command that is at work.'),
    runtimeInfo: text.describe('Where it runs, such as `host rack7`, or what it is for.'),
    host: text.nullable().describe('Null: it does not say.'),
    startedAtMs: Milliseconds,
    deadlineAtMs: Milliseconds.nullable().describe(
      'It dies then unless it is extended; null: it has ended.',
    ),
    endedAtMs: Milliseconds.nullable().describe('Null: it is alive.'),
    version: text.nullable().describe('Null, as in the next four: it does not say.'),
    schema: text.nullable().describe('Newest migration that its program knows.'),
    roles: listOf(text).nullable().describe('Parts of the program that it runs.'),
    consoleUrl: text.nullable(),
    logLevel: text.nullable().describe('As configured; `log/level` has what it is for a while.'),
    work: listOf(z.object({ process: text, machines: z.int() })).describe(
      'How many machines it works on, by what it does.',
    ),
  }),
);

export const SessionsSchema = z.object({
  atMs: Milliseconds.describe('It was read then.'),
  sessions: listOf(SessionSchema).describe(
    'The living, oldest first; then the latest 200 of those that ended within a day.',
  ),
});

const Whole = z.number().overwrite(Math.round).int();

export const LoopSchema = named(
  'Loop',
  z.object({
    name: text.describe('What is done again and again, and for what: `listing equinix`.'),
    periodMs: Whole,
    lastSuccessAtMs: Milliseconds.nullable().describe('Null: not once since the daemon started.'),
    failure: z
      .object({ count: z.int(), lastAtMs: Milliseconds, cause: text })
      .nullable()
      .describe('What failed since the last success.'),
    doneBy: text
      .nullable()
      .describe('Another daemon has the job, by its session; null: it is done here.'),
    isLate: z.boolean().describe('It is done here, and did not succeed for three periods.'),
  }),
);
const LoopsSchema = z.object({
  atMs: Milliseconds,
  sessionId: text.nullable().describe('Of the daemon that answers, whose loops they are.'),
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
      'Daemons and commands at work, and those that ended within a day',
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
      'What the daemon that answers does again and again, and how that went',
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
