import path from 'node:path';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseConfig, type ConfigInput } from '../../../src/config.ts';
import { startDaemon, type Daemon, type StandIns } from '../../../src/daemon/daemon.ts';

export interface BenchDaemonOptions {
  /** Of a migrated database. */
  readonly url: string;
  /** Where it may keep its key and certificates. */
  readonly dir: string;
  readonly config: Pick<ConfigInput, 'providers'> & Partial<ConfigInput>;
  readonly standIns: StandIns;
}

/** A whole daemon as `shepherd run` starts it, silent. */
export const startBenchDaemon = (options: BenchDaemonOptions): Promise<Daemon> =>
  startDaemon({
    config: parseConfig(
      {
        database: { url: '${BENCH_DATABASE}' },
        ssh: { keyPath: path.join(options.dir, 'ssh-key'), hostKeyPolicy: 'insecure' },
        agentServer: {
          listen: '127.0.0.1:0',
          devCertificates: { dir: path.join(options.dir, 'certificates') },
        },
        console: { listen: '127.0.0.1:0' },
        ...options.config,
      },
      { env: { BENCH_DATABASE: options.url }, baseDirectory: options.dir },
    ),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    version: 'bench',
    standIns: options.standIns,
  });
