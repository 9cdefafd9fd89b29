import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ConfigInput } from '../../src/config.ts';

const LAUNCHER = join(import.meta.dirname, '../../bin/shepherd.mjs');

/** A `shepherd run` with a configuration of its own; may be ended and started again. */
export interface DaemonProcess {
  /** Its configuration, for commands. */
  readonly file: string;
  start(): void;
  stop(): Promise<void>;
  /** Kills it in the same instant; resolves when it is gone. */
  kill(): Promise<void>;
  /** Ends that nobody asked for. */
  deaths(): readonly string[];
  /** Messages of its log from `warn` on, with their causes. */
  warnings(): readonly string[];
}

export function createDaemonProcess(
  dir: string,
  name: string,
  config: ConfigInput,
  env: NodeJS.ProcessEnv,
): DaemonProcess {
  const file = join(dir, `${name}.yaml`);
  writeFileSync(file, stringify(config));
  const logFile = join(dir, `${name}.log`);
  const log = openSync(logFile, 'a');
  const deaths: string[] = [];
  let child: ChildProcess | null = null;
  const end = async (signal: NodeJS.Signals) => {
    const ending = child;
    child = null;
    if (ending?.exitCode !== null || ending.signalCode !== null) return;
    ending.kill(signal);
    await once(ending, 'exit');
  };
  return {
    file,
    start() {
      const started = spawn(process.execPath, [LAUNCHER, 'run', '--config', file], {
        stdio: ['ignore', log, log],
        env: { ...process.env, ...env },
      });
      child = started;
      started.on('exit', (code) => {
        if (child === started) deaths.push(`daemon ${name} ended by itself with ${code}`);
      });
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    deaths: () => deaths,
    warnings: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line !== '' && !/"level":"?(20|30|debug|info)\b/.test(line)),
  };
}
