import { z } from 'zod';
import type { Clock } from '../../adapters/clock/port.ts';
import type { SessionLine } from '../../adapters/bmdb/port.ts';
import type { DaemonsView } from '../daemons.ts';
import type { FleetView } from '../port.ts';
import { sharedLook } from '../shared.ts';
import type { Api } from './kit.ts';
import { Milliseconds, named } from './schemas.ts';

const text = z.string();

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
    roles: z.array(text).readonly().nullable().describe('Parts of the program that it runs.'),
    consoleUrl: text.nullable(),
    logLevel: text.nullable().describe('As configured; `log/level` has what it is for a while.'),
    work: z
      .array(z.object({ process: text, machines: z.int() }))
      .readonly()
      .describe('How many machines it works on, by what it does.'),
  }),
);

export const SessionsSchema = z.object({
  atMs: Milliseconds.describe('It was read then.'),
  sessions: z
    .array(SessionSchema)
    .readonly()
    .describe('The living, oldest first; then the latest 200 of those that ended within a day.'),
});

export const LoopSchema = named(
  'Loop',
  z.object({
    name: text.describe('What is done again and again, and for what: `listing equinix`.'),
    periodMs: z.int(),
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
  loops: z.array(LoopSchema).readonly(),
});

/** All of the work there is, is read for it. */
const FRESH_MS = 3_000;

export interface DaemonsDeps {
  readonly daemons: DaemonsView;
  readonly fleet: Pick<FleetView, 'nowMs'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** `sessions`, `loops`: which daemons there are, and what the one that answers does again and again. */
export function addDaemons(api: Api, { daemons, fleet, clock }: DaemonsDeps): void {
  const about = { config: { right: 'see' as const } };
  const look = sharedLook(clock, FRESH_MS, (signal) => daemons.sessions(signal));
  api.get(
    '/sessions',
    {
      ...about,
      schema: {
        tags: ['console'],
        summary: 'Daemons and commands at work, and those that ended within a day',
        response: { 200: SessionsSchema },
      },
    },
    async () => {
      const { atMs, sessions } = await look();
      const self = daemons.self();
      return {
        atMs: Math.round(atMs),
        sessions: sessions.map((each) => ({ ...toldOf(each), isSelf: each.sessionId === self })),
      };
    },
  );
  api.get(
    '/loops',
    {
      ...about,
      schema: {
        tags: ['console'],
        summary: 'What the daemon that answers does again and again, and how that went',
        response: { 200: LoopsSchema },
      },
    },
    async () => {
      const nowMs = fleet.nowMs();
      const self = daemons.self();
      const loops = daemons.loops().map((loop) => {
        const holder = loop.job === null ? null : daemons.holderOf(loop.job);
        const doneBy = holder === self ? null : holder;
        return toldOfLoop(loop, doneBy, nowMs);
      });
      return { atMs: Math.round(nowMs), sessionId: self, loops };
    },
  );
}

const wholeOr = (atMs: number | null): number | null => (atMs === null ? null : Math.round(atMs));

function toldOf({ about, runtimeInfo, ...line }: SessionLine) {
  return {
    sessionId: line.sessionId,
    component: line.component,
    runtimeInfo,
    host: /^host (.+)$/.exec(runtimeInfo)?.[1] ?? null,
    startedAtMs: Math.round(line.startedAtMs),
    deadlineAtMs: wholeOr(line.deadlineAtMs),
    endedAtMs: wholeOr(line.endedAtMs),
    ...about,
    work: line.work,
  };
}

/** A loop may be held up for a moment without anything being the matter. */
const LATE_PERIODS = 3;
const LATE_MIN_MS = 10_000;

function toldOfLoop(
  { name, periodMs, lastSuccessAtMs, failure }: ReturnType<DaemonsView['loops']>[number],
  doneBy: string | null,
  nowMs: number,
) {
  const patienceMs = Math.max(LATE_MIN_MS, LATE_PERIODS * periodMs);
  const isOld = lastSuccessAtMs === null ? failure !== null : nowMs - lastSuccessAtMs > patienceMs;
  return {
    name,
    periodMs: Math.round(periodMs),
    lastSuccessAtMs: wholeOr(lastSuccessAtMs),
    failure: failure && { ...failure, lastAtMs: Math.round(failure.lastAtMs) },
    doneBy,
    isLate: doneBy === null && isOld,
  };
}
