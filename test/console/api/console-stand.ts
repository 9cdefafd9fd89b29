import { afterEach } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { createPromMetrics } from '../../../src/adapters/metrics/prom-metrics.ts';
import { startConsole, type Console, type ConsoleDeps } from '../../../src/console/console.ts';
import { scriptedFleet } from '../scripted-fleet.ts';

const started: Console[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

/** A console on a free port of loopback, closed after the test. */
export async function openConsole(deps: Partial<ConsoleDeps> = {}): Promise<Console> {
  const each = await startConsole({
    listen: { host: '127.0.0.1', port: 0 },
    fleet: scriptedFleet(),
    metrics: createPromMetrics({ version: '0.0.0', schema: '1' }),
    health: () => ({ checks: { bmdb: { ok: true, detail: 'reachable' } } }),
    clock: systemClock,
    log: silentLog,
    version: '0.0.0',
    ...deps,
  });
  started.push(each);
  return each;
}

/** What a GET under `/api/v1/` answers, as JSON. */
export async function askApi<Body>(
  { url }: Console,
  path: string,
  headers: Readonly<Record<string, string>> = {},
) {
  const answer = await fetch(`${url}api/v1/${path}`, { headers });
  const text = await answer.text();
  const body = (text === '' ? null : JSON.parse(text)) as Body;
  return { status: answer.status, headers: answer.headers, text, body };
}
