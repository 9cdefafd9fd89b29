import { spawn } from 'node:child_process';

/** Waits for the end of this process. */
export interface Watchdog {
  /** Disables it. Idempotent. */
  dismiss(): void;
}

/** `TERM` ends HAProxy with its workers and connections; survivors are killed. */
const SCRIPT =
  'read -r _; p=$1; shift; kill -TERM "$p"; n=0; ' +
  'while kill -0 "$p" && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; ' +
  'kill -KILL "$p"; rm -rf -- "$@"';

/**
 * A shell that waits for the end of our pipe, which comes even when this process is killed. It then
 * ends the process and removes its files. Without a shell, a kill leaves the process running.
 */
export function startWatchdog(pid: number | undefined, removed: readonly string[]): Watchdog {
  if (pid === undefined) return { dismiss: () => undefined };
  const watchdog = spawn('sh', ['-c', SCRIPT, 'watchdog', String(pid), ...removed], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const { stdin } = watchdog;
  watchdog.on('error', () => undefined);
  // It is dismissed while its input is open, so a broken pipe is expected.
  stdin.on('error', () => undefined);
  watchdog.unref();
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
  return {
    dismiss() {
      watchdog.kill('SIGKILL');
      stdin.destroy();
    },
  };
}
