import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import { createPromMetrics } from '../../src/adapters/metrics/prom-metrics.ts';
import { startConsole, type Console, type ConsoleDeps } from '../../src/console/console.ts';
import { scriptedFleet } from './scripted-fleet.ts';

/** A console of an empty fleet on a free port of loopback, but for what the test says. */
export const startScriptedConsole = (deps: Partial<ConsoleDeps> = {}): Promise<Console> =>
  startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    fleet: scriptedFleet(),
    metrics: createPromMetrics({ version: '0.0.0', schema: '1' }),
    health: () => ({ checks: { bmdb: { ok: true, detail: 'reachable' } } }),
    clock: systemClock,
    log: silentLog,
    version: '0.0.0',
    ...deps,
  });
