import { startConsole } from '../../src/console/console.ts';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { createPromMetrics } from '../../src/adapters/metrics/prom-metrics.ts';
import { descriptorsMax } from '../../src/daemon/real-ports.ts';
import { machineId } from '../../src/domain/ids.ts';
import { startTestServer } from '../adapters/agents/test-server.ts';
import { createMemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';
import { scriptedFleet } from './scripted-fleet.ts';

/** Console and agent server in one process, as in the daemon; `MACHINE KEY` may send heartbeats. */
const [machine = '', key = ''] = process.argv.slice(2);
const store = createMemHeartbeatStore();
const stored = store.start(machineId(machine), Buffer.from(key, 'hex'));
const { server, trust } = await startTestServer({ store });
const { url } = await startConsole({
  listen: { host: '127.0.0.1', port: 0 },
  fleet: scriptedFleet(),
  metrics: createPromMetrics({ version: '0.0.0', schema: '1' }),
  health: () => ({ checks: { bmdb: { ok: true, detail: 'reachable' } } }),
  clock: systemClock,
  log: silentLog,
  version: '0.0.0',
  descriptorsMax: descriptorsMax(),
});
process.stdout.write(`${JSON.stringify({ url, address: server.address, trust })}\n`);
process.stdin.on('data', () => process.stdout.write(`${stored.heartbeats}\n`));
