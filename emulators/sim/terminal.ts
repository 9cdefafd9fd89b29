import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createDaemonLog } from '../../src/adapters/log/pino-log.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { watchForEnd, type Ends } from '../../src/commands/signals.ts';
import { createLiveLine, type LiveLine } from '../../src/commands/terminal.ts';

/** A simulation's output for people: its log, and one line below the log. */
export interface Terminal {
  readonly live: LiveLine;
  readonly log: Log;
}

/** Lends the terminal to `use`, and watches for signals. */
export async function withTerminal<T>(
  level: 'info' | 'warn' | 'error',
  ends: Ends,
  use: (terminal: Terminal) => Promise<T>,
): Promise<T> {
  const live = createLiveLine(process.stderr, systemClock);
  const isTerminal = process.stderr.isTTY ?? false;
  const log = createDaemonLog(
    { level, format: 'auto', write: live.write, isTerminal },
    systemClock,
  );
  const release = watchForEnd(systemClock, ends);
  try {
    return await use({ live, log });
  } finally {
    log.close();
    live.end();
    release();
  }
}
