import { spawn } from 'node:child_process';

/** Waits for the end of this process. */
export interface Watchdog {
  /** It does nothing any more. Idempotent. */
  dismiss(): void;
}

/** `TERM` ends HAProxy with all its workers and their connections; what does not listen is killed. */
const SCRIPT =
  'read -r _; p=$1; shift; kill -TERM "$p"; n=0; ' +
  'while kill -0 "$p" && [ $n -lt 50 ]; do sleep 0.1; n=$((n+1)); done; ' +
  'kill -KILL "$p"; rm -rf -- "$@"';

/**
 * A shell that waits for the end of our pipe, which comes even when this process is killed, and then
 * ends the process and removes what it leaves. Where there is no shell, a kill leaves it running.
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
  // Dismissed while its input is open: a broken pipe is the expected end.
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
