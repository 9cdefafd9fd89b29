import type { CallEffect } from '../call-faults.ts';
import {
  between,
  daemonOf,
  figures,
  lasting,
  MINUTE,
  minutes,
  pick,
  SECOND,
  type StrikeKindSpec,
} from './kind.ts';

/** Calls that write in a transaction and may conflict with others. */
const WRITES = [
  'bmdb.session.claim',
  'bmdb.work.finish',
  'bmdb.work.fail',
  'bmdb.work.note',
  'bmdb.work',
  'bmdb.session.intents',
  'bmdb.session.intents.open',
  'bmdb.session.intents.adopt',
  'bmdb.session.applyRequest',
  'bmdb.session.balancing',
  'bmdb.session.updateProvided',
  'bmdb.guard',
  'bmdb.providerHolds',
  'bmdb.heartbeats',
];
const READS = ['bmdb.scan', 'bmdb.changesSince', 'bmdb.readMachine'];
const ALL = [
  ...WRITES,
  ...READS,
  'bmdb.session.poke',
  'bmdb.session.lease',
  'bmdb.openSession',
  'bmdb.sweep',
  'bmdb.listings',
  'bmdb.wakes$',
  'bmdb',
];
/** No statement runs longer than its limit in the adapter; see `PgBmdbOptions`. */
const STATEMENT_MS = 4 * SECOND;

/** Spoils calls of one daemon. */
const calls = (
  perHour: number,
  effect: CallEffect,
  paths: readonly string[] = ALL,
): StrikeKindSpec => ({
  perHour,
  draw: (random) => ({
    ...figures('which', 'path')(random),
    times: between(random, 1, 5),
    forMs: between(random, 100, STATEMENT_MS),
  }),
  strike(simulation, numbers) {
    const daemon = daemonOf(simulation, numbers);
    const path = pick(paths, numbers['path']!);
    const { times, forMs } = numbers as { times: number; forMs: number };
    daemon.faults.add({ effect, path, times, forMs });
    return `${daemon.name}: the next ${times} calls ${path} are ${effect}`;
  },
});

/**
 * The database as daemons reach it. Its faults are those that the adapter for PostgreSQL may show.
 */
export const DATABASE = {
  'database-refuses': calls(3, 'refused'),
  'database-read-only': calls(0.5, 'read-only', WRITES),
  'database-answer-lost': calls(3, 'lost'),
  'database-answer-late': calls(2, 'late'),
  'database-call-delayed': calls(2, 'delayed'),
  'database-conflicts': calls(1, 'conflict', WRITES),
  'database-reads-late': calls(2, 'late', READS),
  'notification-lost': calls(1, 'lost', ['bmdb.wakes$']),
  'notification-doubled': calls(1, 'doubled', ['bmdb.wakes$']),
  'database-away': {
    perHour: 0.3,
    draw: lasting(5 * SECOND, 20 * MINUTE),
    strike({ world, later }, { forMs }) {
      const { tables } = world.bmdb;
      tables.reachable = false;
      later(() => {
        tables.reachable = true;
        // A listener reconnects within three seconds.
        later(() => tables.wakes$.next('reconnected'), 2 * SECOND);
      }, forMs!);
      return `the database is away for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;
