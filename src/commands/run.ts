import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { createPinoLog } from '../adapters/log/pino-log.ts';
import { loadConfig, type Flags } from '../config.ts';
import { startDaemon } from '../daemon/daemon.ts';
import { countsLine } from './counts-line.ts';
import { watchForEnd } from './signals.ts';
import { createLiveLine } from './terminal.ts';

export interface RunOptions {
  readonly file: string;
  readonly checkOnly: boolean;
  readonly flags: Flags;
  readonly version: string;
}

/** `shepherd run`: a daemon by its configuration file, until a signal. Resolves when it stopped. */
export async function run({ file, checkOnly, flags, version }: RunOptions): Promise<void> {
  const config = loadConfig({ file, env: process.env, flags });
  if (checkOnly) {
    process.stdout.write(`${file}: the configuration is good\n`);
    return;
  }
  const live = createLiveLine(process.stderr, systemClock);
  const log = createPinoLog({
    ...config.log,
    write: live.write,
    isTerminal: process.stderr.isTTY ?? false,
  });
  const stopping = new AbortController();
  let reload: () => void = () => undefined;
  const release = watchForEnd(systemClock, {
    stop: () => stopping.abort(),
    abandon: () => undefined,
    reload: () => reload(),
  });
  try {
    const daemon = await startDaemon({
      config,
      clock: systemClock,
      random: systemRandom,
      log,
      version,
    });
    reload = () => void daemon.reload();
    const shown = daemon.fleet.changes$.subscribe(({ counts }) => live.set(countsLine(counts)));
    if (stopping.signal.aborted) await daemon.stop();
    // What goes wrong in it is told by `stopped`, which is awaited below.
    const stop = () => void daemon.stop().then(undefined, () => undefined);
    if (!stopping.signal.aborted) stopping.signal.addEventListener('abort', stop, { once: true });
    await daemon.stopped;
    shown.unsubscribe();
  } finally {
    release();
    live.end();
  }
}
