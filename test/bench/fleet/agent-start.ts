import { writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import path from 'node:path';
import { parseSshKey } from '../../../src/adapters/ssh/key-file.ts';
import { rawKey } from '../../adapters/ssh/keys.ts';
import { startBenchDaemon } from './daemon.ts';
import { cpuMs } from '../measure.ts';
import type { BenchServer } from './database.ts';
import { startSshdFleet } from './sshd-fleet.ts';
import { benchAgent } from './bench-agent.ts';

const SSHD_SERVERS = 8;
const AGENT_BYTES = 5_000_000;
const TARGET_PATH = '/root/agent';
/** The provisioner's concurrent creations, fixed: only the number of agent starts varies. */
const CREATIONS = 50;

/**
 * Machines that answer SSH, and an agent for them.
 * @param machinesMax maximum number of machines for one daemon.
 * @throws {Error} OpenSSH's server is missing, or does not start.
 */
export async function prepareAgentStarts(server: BenchServer, machinesMax: number) {
  const key = parseSshKey(rawKey(), 'key');
  const [keyPath, agentPath] = ['agent-start-key', 'bench-agent'].map((name) =>
    path.join(server.dir, name),
  ) as [string, string];
  await writeFile(keyPath, key.privateKey, { mode: 0o400 });
  await writeFile(agentPath, benchAgent(AGENT_BYTES));
  const fleet = await startSshdFleet({
    servers: SSHD_SERVERS,
    portsEach: Math.ceil(machinesMax / SSHD_SERVERS),
    authorizedKey: key.publicLine,
    targetPath: TARGET_PATH,
  });
  return {
    /** Uses a new daemon, a new database and empty machines. CPU is per machine. */
    async measure(machines: number, parallelism: number) {
      await fleet.wipe();
      const sshdMs = await fleet.cpuMs();
      const database = await server.database();
      const provider = fleet.provider(machines);
      const daemon = await startBenchDaemon({
        url: database.url,
        dir: server.dir,
        config: {
          providers: {
            racks: {
              driver: 'memory',
              instanceSetId: provider.instanceSetId,
              callsPerSecond: 0,
              hostKeyPolicy: 'strict',
            },
          },
          ssh: { keyPath, sudo: 'never' },
          agent: { executablePath: agentPath, targetPath: TARGET_PATH },
          provisioner: {
            maxMachines: 0,
            reconcilerRate: '20ms',
            deviceCreationRate: '1ms',
            reservationChunkSize: machines,
            concurrentCreations: CREATIONS,
          },
          initializer: { loopParallelism: parallelism },
          mirror: { listInterval: '500ms' },
        },
        played: ({ openShell }) => ({
          drivers: provider.drivers,
          openShell: async (means) => fleet.through(await openShell(means)),
        }),
      });
      try {
        const [daemonMs, allMs] = [cpuMs(), machineCpuMs()];
        const seconds = await database.started(machines);
        const daemonCpuMs = (cpuMs() - daemonMs) / machines;
        const sshdTotalMs = (await fleet.cpuMs()) - sshdMs;
        return {
          machinesPerSecond: machines / seconds,
          daemonCpuMs,
          sshdCpuMs: sshdTotalMs / machines,
          sshdShare: sshdTotalMs / (machineCpuMs() - allMs),
        };
      } finally {
        await daemon.stop();
      }
    },
    close: fleet.stop,
  };
}

const machineCpuMs = (): number =>
  cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
