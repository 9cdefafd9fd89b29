import { performance } from 'node:perf_hooks';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../src/adapters/metrics/port.ts';
import { parseConfig } from '../../../src/config.ts';
import { DRIVERS } from '../../../src/adapters/provider/drivers.ts';
import { createMemoryRecords } from '../../../src/adapters/driver-kit/stand-ins.ts';
import { openProvider } from '../../../src/daemon/providers.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { PREFIX, SET_ID } from './listing.ts';

/**
 * Lists everything once, and prints the cost. It is a separate process, so its memory is its own.
 */
const config = parseConfig(
  {
    database: { url: 'postgresql://nobody@127.0.0.1/none' },
    providers: {
      bench: {
        driver: 'equinix',
        baseUrl: process.env['LISTER_URL']!,
        token: '${LISTER_TOKEN}',
        username: 'bench',
        projectId: process.env['LISTER_PROJECT']!,
        devicePrefix: PREFIX,
        sshKeyLabel: 'bench',
        instanceSetId: SET_ID,
        apiRate: '0s',
        callsPerSecond: 0,
      },
    },
    ssh: { keyPath: '/nonexistent/key' },
    agentServer: { listen: '127.0.0.1:0', devCertificates: { dir: '/nonexistent' } },
  },
  { env: process.env, baseDirectory: '/' },
);
const { provider } = openProvider(providerName('bench'), config.providers['bench']!, {
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  metrics: silentMetrics,
  version: 'bench',
  records: createMemoryRecords(systemRandom),
  drivers: DRIVERS,
  publicKey: `ssh-ed25519 ${'A'.repeat(68)} bench`,
});

const usedMb = () => process.memoryUsage().rss / 2 ** 20;
const beforeMb = usedMb();
const beganMs = performance.now();
const { machines, complete } = await provider.listMachines({
  signal: AbortSignal.timeout(600_000),
});
const seconds = (performance.now() - beganMs) / 1_000;
if (!complete) throw new Error('the listing is incomplete');
// The high-water mark of the whole process, in KiB.
const peakMb = process.resourceUsage().maxRSS / 2 ** 10 - beforeMb;
const devices = machines.filter(({ availability }) => availability === 'KnownUsed').length;
process.stdout.write(`${JSON.stringify({ devices, seconds, peakMb })}\n`);
await provider.stop();
