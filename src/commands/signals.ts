import { constants } from 'node:os';
import type { Clock } from '../adapters/clock/port.ts';
import { isDiskFull } from '../domain/errors.ts';

const STOPPING: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM'];
/** The terminal is gone; or, of a daemon: read again what can be read again. */
const HANG_UP: NodeJS.Signals = 'SIGHUP';
/** npm passes on a Ctrl-C that the terminal delivered already: that is one wish, not two. */
const SAME_WISH_MS = 500;
/** EX_SOFTWARE of sysexits.h: a bug of ours. */
const EXIT_BUG = 70;

export interface Ends {
  /**
   * An orderly end is wished for: by a signal, or because what we wrote could not be delivered, save
   * that the disk under the log is full.
   */
  stop(): void;
  /** The process ends in the same instant; only what is synchronous has an effect. */
  abandon(): void;
  /** What SIGHUP means; `stop` when absent. */
  reload?(): void;
}

/**
 * The first signal to stop calls `stop`; a second one, and an error that nobody caught, end the process after
 * `abandon`. Returns a function that gives everything back.
 */
export function watchForEnd({ monotonic }: Pick<Clock, 'monotonic'>, ends: Ends): () => void {
  let askedAt: number | null = null;
  const onSignal = (signal: NodeJS.Signals) => {
    if (askedAt === null) {
      askedAt = monotonic();
      ends.stop();
      return;
    }
    if (monotonic() - askedAt < SAME_WISH_MS) return;
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
  // A log that is full is no reason to give up what it tells of.
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
