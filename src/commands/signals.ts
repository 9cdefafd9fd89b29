import { constants } from 'node:os';
import type { Clock } from '../adapters/clock/port.ts';
import { isDiskFull } from '../domain/errors.ts';

const STOPPING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
/** The terminal is gone. A daemon reloads its configuration instead. */
const HANG_UP: NodeJS.Signals = 'SIGHUP';
/** npm repeats a Ctrl-C that the terminal delivered already. Both count as one. */
const SAME_SIGNAL_MS = 500;
/** EX_SOFTWARE of sysexits.h: an internal error. */
const EXIT_BUG = 70;

export interface Ends {
  /**
   * Stop in good order: after a signal, or because the output can no longer be written. A full disk
   * under the log is no reason to stop.
   */
  stop(): void;
  /** The process ends right after this call, so only synchronous work has an effect. */
  abandon(): void;
  /** What SIGHUP means; `stop` when absent. */
  reload?(): void;
}

/**
 * Calls `stop` at the first signal. A second signal or an uncaught error calls `abandon` and ends the process.
 * Returns a function that removes all listeners.
 */
export function watchForEnd({ monotonic }: Pick<Clock, 'monotonic'>, ends: Ends): () => void {
  let askedAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (askedAt === null) {
      askedAt = monotonic();
      ends.stop();
      return;
    }
    if (monotonic() - askedAt < SAME_SIGNAL_MS) return;
    ends.abandon();
    process.exit(128 + constants.signals[signal]);
  };
  const onCrash = (error: unknown) => {
    ends.abandon();
    const stack = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`shepherd: internal error; please report it\n${stack}\n`);
    process.exit(EXIT_BUG);
  };
  const onOutputLost = () => ends.stop();
  // A full disk under the log does not stop the daemon.
  const onLogLost = (error: Error) => {
    if (!isDiskFull(error)) ends.stop();
  };
  const onHangUp = ends.reload ? () => ends.reload?.() : onSignal;
  for (const signal of STOPPING) process.on(signal, onSignal);
  process.on(HANG_UP, onHangUp);
  process.on('uncaughtException', onCrash);
  process.stdout.on('error', onOutputLost);
  process.stderr.on('error', onLogLost);
  return () => {
    for (const signal of STOPPING) process.off(signal, onSignal);
    process.off(HANG_UP, onHangUp);
    process.off('uncaughtException', onCrash);
  };
}
