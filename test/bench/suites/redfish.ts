import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { systemClock, systemRandom } from '../../../src/adapters/clock/system-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { silentMetrics } from '../../../src/adapters/metrics/port.ts';
import { createMemoryRecords } from '../../../src/adapters/driver-kit/stand-ins.ts';
import { redfishDriver } from '../../../src/adapters/provider/redfish/driver.ts';
import type { Settings } from '../../../src/adapters/provider/redfish/settings.ts';
import { providerName } from '../../../src/domain/ids.ts';
import { startRedfishEmulator } from '../../../emulators/redfish/emulator.ts';
import { heapInUse } from '../measure.ts';
import { roundedOf, scaled, type Suite } from '../suite.ts';

const BMCS = 2_000;
/** The usual period. */
const PERIOD_S = 300;
const SLOW_MS = 2_000;

export const suite: Suite = {
  summary: 'a rack of 2 000 BMCs, one in twenty dead and one slow: listings, and a round of looks',
  run: async (options) =>
    roundedOf(await measureRack(scaled(BMCS, options, 20), 1_000 * scaled(PERIOD_S, options, 60))),
};

/** One polling round of a rack in which one BMC of twenty is dead, and one slow. */
async function measureRack(bmcs: number, periodMs: number) {
  const dead = Math.max(1, Math.round(bmcs / 20));
  const effect = { type: 'latency', ms: SLOW_MS } as const;
  const fake = await startRedfishEmulator({
    listen: { host: '127.0.0.1', port: 0 },
    systems: bmcs - dead,
    faults: Array.from({ length: dead }, (_, n) => ({ match: { bmc: `bmc-${n + 1}` }, effect })),
  });
  const directory = await mkdtemp(join(tmpdir(), 'bench-redfish-'));
  const machine = (n: number) => ({
    ...{ ID: `bmc-${n}`, Addr: `127.1.${n >> 8}.${n & 255}`, SshPort: 1 },
  });
  const alive = fake
    .bmcs()
    .map(({ url, certSha256 }, n) => ({ ...machine(n), Bmc: url, CertSha256: certSha256 }));
  const away = Array.from({ length: dead }, (_, n) => ({
    ...machine(alive.length + n),
    Bmc: `https://127.2.${n >> 8}.${n & 255}:1`,
  }));
  await writeFile(join(directory, 'rack.json'), JSON.stringify([...alive, ...away]));
  const settings = redfishDriver
    .settings({
      env: { BMC_PASSWORD: fake.credentials.password },
      ...{ baseDirectory: directory, checkFiles: true },
    })
    .parse({
      inventory: 'file:rack.json',
      credentials: { default: { username: 'admin', password: '${BMC_PASSWORD}' } },
      powerPoll: `${periodMs / 1_000}s`,
    }) as Settings;
  const name = providerName('bench');
  const heapBefore = heapInUse();
  const beganMs = performance.now();
  const provider = redfishDriver.open(settings, {
    ...{ name, instanceSetId: 'bench-fleet-000000000000001', publicKey: '', userAgent: 'bench' },
    ...{ clock: systemClock, random: systemRandom, log: silentLog, metrics: silentMetrics },
    records: createMemoryRecords(systemRandom)(name),
    daemons: () => 1,
  } as Parameters<typeof redfishDriver.open>[1]);
  const call = () => ({
    signal: new AbortController().signal,
    deadline: new Date(Date.now() + periodMs),
    operationId: 'bench',
    requireOurs: () => undefined,
  });
  let [listMsMost, listings, socketsMost] = [0, 0, 0];
  try {
    for (;;) {
      const startedMs = performance.now();
      const { machines, complete } = await provider.listMachines({}, call());
      listings += 1;
      listMsMost = Math.max(listMsMost, performance.now() - startedMs);
      if (!complete || machines.length !== bmcs) throw new Error('the listing is incomplete');
      if (machines.filter(({ power }) => power === 'unknown').length === dead) break;
      if (performance.now() - beganMs > periodMs) throw new Error('the round takes over a period');
      const open = process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap');
      socketsMost = Math.max(socketsMost, Math.ceil(open.length / 2));
      await setTimeout(250);
    }
    const roundSeconds = (performance.now() - beganMs) / 1_000;
    const heapKb = (heapInUse() - heapBefore) / 1_024 / bmcs;
    const sessionsMost = Math.max(...fake.bmcs().map((bmc) => bmc.sessionsMost));
    const stoppingMs = performance.now();
    await provider.stop();
    const stopSeconds = (performance.now() - stoppingMs) / 1_000;
    const looks = { roundSeconds, listings, listMsMost, socketsMost, sessionsMost, stopSeconds };
    return { bmcs, dead, slow: dead, heapKb, ...looks };
  } finally {
    await provider.stop();
    await fake.close();
    await rm(directory, { recursive: true });
  }
}
