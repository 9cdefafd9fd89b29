import { z } from 'zod';
import { LEVELS, type LogControl } from '../views.ts';
import { described, type Api } from './kit.ts';
import { Problem } from './problem.ts';
import { listOf, Milliseconds, named, text, wholeNumber } from './schemas.ts';

const RECORDS_MAX = 1_000;

export const LogSchema = named(
  'Log',
  z.object({
    daemon: z.object({
      host: text,
      sessionId: text.nullable().describe('Null: the daemon has no session at the moment.'),
    }),
    records: listOf(
      z.object({
        number: z.int(),
        atMs: Milliseconds,
        level: z.enum(LEVELS),
        component: text.nullable().describe('Null: the daemon itself.'),
        message: text,
        fields: z.record(text, z.unknown()),
      }),
    ).describe('Oldest first.'),
    newest: z.int().describe('Give it as `after` for later records.'),
    lost: z.int().describe('Records after `after` that the daemon no longer keeps.'),
  }),
);

const Query = z.strictObject({
  after: wholeNumber(0, Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('The first records with a larger number. 0: the latest records.'),
  level: z.enum(LEVELS).default('debug').describe('Only records of this severity or a higher one.'),
  sinceMs: wholeNumber(0, Number.MAX_SAFE_INTEGER).default(0),
  slot: text.max(300).optional().describe('Only records that name this slot.'),
  machine: text.max(36).optional().describe('With `slot`: also records that name this machine id.'),
  limit: wholeNumber(1, RECORDS_MAX).default(200),
});

export interface LogDeps {
  /** Null: this daemon keeps no log records. */
  readonly logControl: LogControl | null;
  readonly daemons: { self(): string | null };
}

/** `log`: the latest log records of the daemon that answers, without secrets. */
export function addLog(api: Api, { logControl, daemons }: LogDeps): void {
  api.get(
    '/log',
    described(
      'operate',
      ['console', 'The latest log records of the daemon that answers'],
      { 200: LogSchema },
      { querystring: Query },
    ),
    async ({ query: { slot, machine, ...query } }) => {
      const ring = logControl?.recent;
      if (!ring) throw new Problem('unavailable', 'This daemon keeps no log records in memory');
      const about = slot === undefined ? null : { slot, machineId: machine ?? null };
      return {
        daemon: { host: logControl.host, sessionId: daemons.self() },
        ...ring.read({ ...query, about }),
      };
    },
  );
}
