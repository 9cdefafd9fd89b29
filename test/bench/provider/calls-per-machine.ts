import { setTimeout } from 'node:timers/promises';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { openSimWorld, simConfig } from '../../../emulators/sim/world.ts';
import { startDaemon } from '../../../src/daemon/daemon.ts';
import { realPorts } from '../../../src/daemon/real-ports.ts';

const PATIENCE_MS = 180_000;
/** Calls for the whole fleet: their cost does not depend on one machine. */
const LISTINGS = ['/projects/{id}/devices', '/projects/{id}/hardware-reservations'];
/** Once per daemon, for any number of machines. */
const PREPARATIONS = ['/projects/{id}/ssh-keys', '/ssh-keys', '/ssh-keys/{id}'];

/** API calls per machine, from its free reservation to its first heartbeat. */
export async function measureCallsPerMachine(machines: number) {
  const world = await openSimWorld({ machines, log: silentLog });
  try {
    const daemon = await startDaemon({
      config: simConfig(world, { console: { listen: '127.0.0.1:0' } }),
      ports: await realPorts({ version: 'bench', log: silentLog }),
      version: 'bench',
    });
    try {
      const isHealthy = ({ substate }: { substate: string }) => substate === 'healthy';
      const endsAt = performance.now() + PATIENCE_MS;
      while ([...daemon.board.entries.values()].filter(isHealthy).length < machines) {
        if (performance.now() > endsAt) throw new Error('the machines do not come up');
        await setTimeout(50);
      }
      return countCalls(world.emulator.requests(), machines);
    } finally {
      await daemon.stop();
    }
  } finally {
    await world.close();
  }
}

type Requests = Awaited<ReturnType<typeof openSimWorld>>['emulator'];

function countCalls(requests: ReturnType<Requests['requests']>, machines: number) {
  let listings = 0;
  const byRoute: Record<string, number> = {};
  for (const { method, route, query } of requests) {
    const isListing = method === 'GET' && LISTINGS.includes(route) && query['tag'] === undefined;
    if (isListing) listings += 1;
    if (isListing || PREPARATIONS.includes(route)) continue;
    const name = `${method} ${route}`;
    byRoute[name] = (byRoute[name] ?? 0) + 1;
  }
  const total = Object.values(byRoute).reduce((sum, count) => sum + count, 0);
  return { perMachine: total / machines, listings, byRoute };
}
