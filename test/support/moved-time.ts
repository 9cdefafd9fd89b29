import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { Clock } from '../../src/adapters/clock/port.ts';
import { createSimulatedClock } from '../doubles/simulated-clock.ts';

/** A daemon's clock that moves only when the test moves it. */
export interface MovedClock extends Clock {
  move(ms: number): void;
  /**
   * Whether the clock runs on to the end of a pause between two attempts, so that attempts take no
   * time. Otherwise pauses really pass, and the attempts never end unless the test moves the clock.
   */
  runsOn: boolean;
}

/** Timers up to this many milliseconds count as such pauses. */
const PAUSE_MAX_MS = 1_000;

export function createMovedClock(): MovedClock {
  const clock = createSimulatedClock();
  const moved: MovedClock = {
    ...clock,
    runsOn: true,
    move: clock.increment,
    setTimeout: (fn, ms) => {
      const timer = clock.setTimeout(fn, ms);
      const untilMs = clock.monotonic() + Math.ceil(ms);
      const runOn = () => clock.increment(Math.max(0, untilMs - clock.monotonic()));
      const pass = () => {
        clock.clearTimeout(timer);
        fn();
      };
      const ifPending = (then: () => void) => () => clock.isPending(timer) && then();
      if (ms > PAUSE_MAX_MS) return timer;
      if (moved.runsOn) setImmediate(ifPending(runOn));
      else setTimeout(ifPending(pass), ms);
      return timer;
    },
  };
  return moved;
}

/** The time of a database and of its daemons. */
export interface MovedTime {
  readonly clock: MovedClock;
  /** The database's time. Daemons may be ahead of it by their pauses. */
  nowMs(): number;
  move(sql: Pick<pg.Pool, 'query'>, ms: number): Promise<void>;
}

const SQL = readFileSync(new URL('./moved-time.sql', import.meta.url), 'utf8');

/** Takes over the time of a migrated database. Existing connections keep the real time. */
export async function takeTimeOver(ownerUrl: string): Promise<MovedTime> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(SQL);
  } finally {
    await owner.end();
  }
  const clock = createMovedClock();
  let nowMs = clock.now();
  return {
    clock,
    nowMs: () => nowMs,
    move: async (sql, ms) => {
      nowMs += ms;
      await sql.query(`SELECT setval('testclock.us', $1)`, [nowMs * 1_000]);
      clock.move(ms);
    },
  };
}
