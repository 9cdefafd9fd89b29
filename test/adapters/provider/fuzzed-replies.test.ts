import fc from 'fast-check';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/adapters/clock/system-clock.ts';
import { createFleetProvider } from '../../../src/adapters/driver-kit/fleet-provider.ts';
import { secretsOfSettings } from '../../../src/adapters/driver-kit/redaction.ts';
import { equinixDriver } from '../../../src/adapters/provider/equinix/driver.ts';
import { hetznerRobotDriver } from '../../../src/adapters/provider/hetzner-robot/driver.ts';
import { latitudeDriver } from '../../../src/adapters/provider/latitude/driver.ts';
import type { Driver, FleetProvider } from '../../../src/adapters/provider/port.ts';
import { redfishDriver } from '../../../src/adapters/provider/redfish/driver.ts';
import { isProviderError } from '../../../src/domain/errors.ts';
import { issueCertificate } from '../../../emulators/redfish/certificate.ts';
import { createMemMetrics } from '../../doubles/mem-metrics.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { driverContext, INSTANCE_SET_ID, publicKeyLine } from './driver-stand.ts';
import { PROJECT_ID } from './equinix/setup.ts';

/**
 * For any reply: no crash, no secret in its report, and never the conclusion that a machine is
 * gone. A new HTTP driver is one more line of the table.
 */
const SECRET = 'planted-Secret-7f3a9c';

interface Fuzzed {
  readonly driver: Driver;
  readonly settings: (url: string) => object;
  /** An id in the form of its vendor. */
  readonly id: string;
  /** Its machines are in its own list, whatever the answer. */
  readonly isInventory?: boolean;
}
const DRIVERS: readonly Fuzzed[] = [
  {
    driver: equinixDriver,
    id: '0b6e1111-1111-4111-8111-111111111111',
    settings: (baseUrl) => ({
      ...{ baseUrl, token: '${SECRET}', username: 'tester', projectId: PROJECT_ID },
      ...{ devicePrefix: 'fuzzed-', sshKeyLabel: 'fuzzed', apiRate: '0s' },
      ...{ backoffInitial: '1ms', backoffMaximum: '1ms' },
    }),
  },
  {
    driver: latitudeDriver,
    id: 'sv_0b6e1111',
    settings: (baseUrl) => ({
      ...{ baseUrl, token: '${SECRET}', project: 'proj_0b6e1111', namePrefix: 'fuzzed-' },
      sshKeyName: 'fuzzed',
      slots: [{ plan: 'c3-small-x86', site: 'ASH', count: 1 }],
    }),
  },
  {
    driver: hetznerRobotDriver,
    id: '321',
    settings: (baseUrl) => ({
      ...{ baseUrl, user: '#ws+fuzzed', password: '${SECRET}', namePrefix: 'fuzzed-' },
      ...{ freePrefix: 'free-', sshKeyName: 'fuzzed', listCache: '0s' },
      imageUrl: 'https://images.example/debian-13.tar.gz',
    }),
  },
  {
    driver: redfishDriver,
    id: 'srv-1',
    isInventory: true,
    settings: () => ({
      inventory: `file:${inventory}`,
      credentials: { default: { username: 'tester', password: '${SECRET}' } },
      ...{ bmcGap: '1ms', probePort: 1, bmcReset: true },
    }),
  },
];

interface FuzzedReply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly cut: boolean;
}
/** An empty list is an answer: it states that there is nothing. */
const EMPTY = /^\s*(\[\s*\]|\{\s*"\w+"\s*:\s*\[\s*\]\s*\})\s*$/;
const anyReply: fc.Arbitrary<FuzzedReply> = fc.record({
  status: fc.constantFrom(200, 200, 200, 201, 202, 204, 302, 400, 404, 409, 422, 500, 503),
  type: fc.constantFrom('application/json', 'application/vnd.api+json', 'text/html', ''),
  body: fc.oneof(
    { weight: 4, arbitrary: fc.json().filter((text) => !EMPTY.test(text)) },
    { weight: 2, arbitrary: fc.json().map((text) => `{"data": [${text}], "meta": ${text}}`) },
    { weight: 1, arbitrary: fc.json().map((text) => `[${text}, {"server": ${text}}]`) },
    { weight: 1, arbitrary: fc.json().map((text) => `{"devices": [${text}], "error": ${text}}`) },
    { weight: 2, arbitrary: fc.uint8Array({ maxLength: 200 }) },
    { weight: 1, arbitrary: fc.constant(`<h1>${SECRET}</h1>`) },
    { weight: 1, arbitrary: fc.constant(JSON.stringify({ error: SECRET, errors: [SECRET] })) },
    { weight: 1, arbitrary: fc.constant('['.repeat(5_000)) },
  ),
  cut: fc.oneof({ weight: 6, arbitrary: fc.constant(false) }, fc.constant(true)),
});

/** A 404 in a vendor's own form is an answer: it states that there is none. */
const tellsAbsence = ({ status, type, body, cut }: FuzzedReply): boolean =>
  status === 404 &&
  type !== 'text/html' &&
  !cut &&
  typeof body === 'string' &&
  OWN_WORDS.test(body);
const OWN_WORDS = /"errors?":/;

function answer(res: ServerResponse, { status, type, body, cut }: FuzzedReply): void {
  res.writeHead(status, { ...(type !== '' && { 'content-type': type }) });
  if (!cut) return void res.end(body);
  res.write(body);
  res.destroy();
}

let replies: readonly FuzzedReply[] = [];
let asked = 0;
const reply: RequestListener = (req, res) => {
  req.resume();
  answer(res, replies[asked++ % replies.length]!);
};
const servers: Server[] = [];
async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
let url: string;
let directory: string;
let inventory: string;
beforeAll(async () => {
  url = `http://${await listen(createServer(reply))}`;
  const { key, cert, sha256 } = await issueCertificate('fuzzed');
  const bmc = `https://${await listen(createTlsServer({ key, cert }, reply))}`;
  directory = await mkdtemp(join(tmpdir(), 'fuzzed-replies-'));
  inventory = join(directory, 'rack.json');
  const entry = { ID: 'srv-1', Addr: '127.0.0.1', Bmc: bmc, CertSha256: sha256, Serial: 'S1' };
  await writeFile(inventory, JSON.stringify([entry]));
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await rm(directory, { recursive: true });
});

/** Long enough for several replies, too short for most waits. */
const CALL_MS = 60;
const call = { signal: new AbortController().signal, timeoutMs: CALL_MS };
type PortCall = readonly [string, (fleet: FleetProvider, id: string) => Promise<unknown>];
const ACTS: readonly PortCall[] = [
  ['list', (fleet) => fleet.listMachines(call)],
  ['get', (fleet, id) => fleet.getMachine(id, call)],
  ['reboot', (fleet, id) => fleet.rebootMachine(id, 'graceful', call)],
  ['destroy', (fleet, id) => fleet.deprovisionMachine(id, call)],
  ['prepare', (fleet) => fleet.prepare(call)],
];

function open({ driver, settings }: Fuzzed) {
  const [log, metrics] = [recordingLog(), createMemMetrics()];
  const context = driverContext(driver.name, {
    ...{ clock: systemClock, log, metrics, publicKey: publicKeyLine(1) },
  });
  const { name, records } = context;
  const own = driver
    .settings({ env: { SECRET }, baseDirectory: '/', checkFiles: false })
    .parse(settings(url));
  const fleet = createFleetProvider(
    driver.open(own, context),
    {
      ...{ name, type: driver.name, instanceSetId: INSTANCE_SET_ID, sharedTags: {}, image: null },
      ...{ initCommand: '', publicKey: publicKeyLine(1), secrets: secretsOfSettings(own) },
    },
    context,
  );
  const told = async () => [log.lines, metrics.calls, await records.all(call)];
  return { fleet, told };
}

describe.each(DRIVERS.map((each) => [each.driver.name, each] as const))('%s', (_, fuzzed) => {
  test('survives any reply, reveals no secret, and treats no machine as gone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyReply, { minLength: 1, maxLength: 6 }), async (given) => {
        [replies, asked] = [given, 0];
        const { fleet, told } = open(fuzzed);
        try {
          for (const [what, act] of ACTS) {
            const end = await act(fleet, fuzzed.id).then(
              (value) => ({ value }),
              (error: unknown) => ({ error }),
            );
            expect(inspect(end, { depth: 12 }), what).not.toContain(SECRET);
            if ('error' in end) {
              expect(isProviderError(end.error), `${what}: ${inspect(end.error)}`).toBe(true);
              const isGone = isProviderError(end.error, 'not-found');
              expect(isGone && !given.some(tellsAbsence), what).toBe(false);
            } else if (what === 'list') {
              const {
                machines,
                complete,
                unreadable = [],
              } = end.value as Awaited<ReturnType<FleetProvider['listMachines']>>;
              const isEmpty = machines.length + unreadable.length === 0;
              expect(complete && isEmpty, 'an empty listing out of nothing').toBe(false);
            } else if (!fuzzed.isInventory) {
              expect(['get', 'destroy'], `${what} succeeded`).not.toContain(what);
            } else expect(what, 'a reboot out of nothing').not.toBe('reboot');
          }
        } finally {
          await fleet.stop();
        }
        expect(inspect(await told(), { depth: 12, maxArrayLength: null })).not.toContain(SECRET);
      }),
      { numRuns: 10 },
    );
  });
});
