import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { createDaemonLog } from '../adapters/log/pino-log.ts';
import { createServiceManager } from '../adapters/systemd/systemd.ts';
import { loadConfig, tellFaults, type Flags } from '../config.ts';
import { checkAround, type Finding } from '../daemon/check.ts';
import { startDaemon, type Daemon } from '../daemon/daemon.ts';
import { realPorts } from '../daemon/real-ports.ts';
import { createService } from '../daemon/service.ts';
import { UsageError } from '../domain/errors.ts';
import { watchForEnd } from './signals.ts';
import { createLiveLine } from './terminal.ts';
import { headlineText } from '../domain/headline.ts';

export interface RunOptions {
  readonly file: string;
  readonly checkOnly: boolean;
  readonly flags: Flags;
  readonly version: string;
}

/** `shepherd run`: runs a daemon until a signal. Resolves when the daemon has stopped. */
export async function run({ file, checkOnly, flags, version }: RunOptions): Promise<void> {
  const config = loadConfig({ file, env: process.env, flags });
  const means = { clock: systemClock, random: systemRandom, version };
  const [warnings, refusals] = split(await checkAround(config, means));
  if (refusals.length > 0) throw new UsageError(tellFaults(file, refusals));
  if (checkOnly) {
    for (const { path, message } of warnings) {
      process.stdout.write(`${file}: warning: ${path.join('.')} ${message}\n`);
    }
    process.stdout.write(`${file}: the configuration is valid\n`);
    return;
  }
  const live = createLiveLine(process.stderr, systemClock);
  const log = createDaemonLog(
    { ...config.log, write: live.write, isTerminal: process.stderr.isTTY ?? false },
    systemClock,
  );
  const manager = createServiceManager({ env: process.env, pid: process.pid, log });
  let running: Daemon | null = null;
  const summary = () => (running ? headlineText(running.fleet.frame().headline) : 'starting');
  const service = createService(manager, systemClock, summary);
  const stopping = new AbortController();
  stopping.signal.addEventListener('abort', service.stopping, { once: true });
  let reload: () => void = () => undefined;
  const release = watchForEnd(systemClock, {
    stop: () => stopping.abort(),
    abandon: () => undefined,
    reload: () => reload(),
  });
  for (const { path, message } of warnings) {
    log.warn({ key: path.join('.'), cause: message }, 'the configuration may not be what you want');
  }
  try {
    const { sockets, isThere: mayWait } = manager;
    const ports = await realPorts({ version, log, sockets, mayWait });
    const daemon = await startDaemon({ config, version, ports });
    running = daemon;
    reload = () => void service.reload(daemon);
    void service.started(daemon);
    const shown = daemon.fleet.entryChanges$.subscribe(() =>
      live.set(`${headlineText(daemon.board.headline())} · ${daemon.consoleUrl}`),
    );
    if (stopping.signal.aborted) await daemon.stop();
    // `stopped`, which is awaited below, reports errors of the stop.
    const stop = () => void daemon.stop().then(undefined, () => undefined);
    if (!stopping.signal.aborted) stopping.signal.addEventListener('abort', stop, { once: true });
    await daemon.stopped;
    shown.unsubscribe();
  } finally {
    release();
    await service.end();
    log.close();
    live.end();
  }
}

const split = (findings: readonly Finding[]): readonly [Finding[], Finding[]] => [
  findings.filter(({ isWarning }) => isWarning),
  findings.filter(({ isWarning }) => !isWarning),
];
