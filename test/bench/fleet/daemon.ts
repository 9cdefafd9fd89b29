import path from 'node:path';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { parseConfig, type ConfigInput } from '../../../src/config.ts';
import { startDaemon, type Daemon } from '../../../src/daemon/daemon.ts';
import type { Ports } from '../../../src/daemon/ports.ts';
import { realPorts } from '../../../src/daemon/real-ports.ts';
import { MEMORY_DRIVERS } from '../../doubles/mem-provider.ts';

export interface BenchDaemonOptions {
  /** URL of a migrated database. */
  readonly url: string;
  /** Directory for its key and certificates. */
  readonly dir: string;
  readonly config: Pick<ConfigInput, 'providers'> & Partial<ConfigInput>;
  /** The simulated ports. */
  readonly played: (real: Ports) => Partial<Ports>;
}

/** A whole daemon as `shepherd run` starts it, silent. */
export async function startBenchDaemon(options: BenchDaemonOptions): Promise<Daemon> {
  const real = await realPorts({ version: 'bench', log: silentLog });
  return startDaemon({
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
      { providers: MEMORY_DRIVERS },
    ),
    ports: { ...real, ...options.played(real) },
    version: 'bench',
  });
}
