import { createMemoryRecords } from '../../../../../src/adapters/driver-kit/stand-ins.ts';
import type { ClaimValue } from '../../../../../src/adapters/provider/redfish/install/claims.ts';
import type {
  CreateRequest,
  DriverMachine,
  Provider,
} from '../../../../../src/adapters/provider/port.ts';
import { toProviderMachine } from '../../../../../src/adapters/driver-kit/entries.ts';
import { providerName } from '../../../../../src/domain/ids.ts';
import type { ProviderRecord } from '../../../../../src/domain/provisioning/records.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../../../src/domain/provisioning/provider-tags.ts';
import type { SimulatedDevice } from '../../../../../emulators/kit/hooks.ts';
import { type DaemonLife, mortal } from '../../../../doubles/life.ts';
import { createSeededRandom } from '../../../../doubles/simulated-clock.ts';
import { INSTANCE_SET_ID, publicKeyLine } from '../../driver-stand.ts';
import { startRack, type RackOptions } from '../stand.ts';

export const WITNESS = '11112222-0000-4000-8000-000000000001';
export const OTHER = '33334444-0000-4000-8000-000000000002';
export const SECRET = 'e'.repeat(40);
export const BOOT_MS = 62_000;
export const INSTALL_MS = 240_000;

export interface InstallOptions extends Omit<RackOptions, 'settings' | 'machines'> {
  readonly install?: Readonly<Record<string, unknown>>;
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Machines behind the systems. Default: records only. */
  readonly machines?: boolean;
}

/** A rack with installed machines, and records that tests can read. */
export async function startInstalls(options: InstallOptions = {}) {
  const { install = {}, machines: withMachines = false, ...rest } = options;
  const port = 8_080;
  const seedUrl = `http://127.0.0.1:${port}`;
  const hosts = createPaperHosts();
  const records = createMemoryRecords(createSeededRandom(7))(providerName('rack'));
  const rack = await startRack({
    ...rest,
    machines: withMachines ? { hosts } : null,
    entry: (machine, bmc) => ({ Mac: machine.mac, ...rest.entry?.(machine, bmc) }),
    context: { records },
    settings: {
      install: {
        method: 'vmedia',
        iso: `${seedUrl}/images/{token}.iso`,
        seedListen: `127.0.0.1:${port}`,
        seedKey: '${SEED_KEY}',
        ...install,
      },
      ...rest.settings,
    },
  });
  const { clock, fake, inTime, network, provider, call } = rack;
  const signal = new AbortController().signal;

  const tagsOf = (witness: string) => ({
    [SET_ID_TAG]: INSTANCE_SET_ID,
    [WITNESS_TAG]: witness,
    'shepherd-InstanceSecret': `hash of ${witness}`,
  });
  const seen = (machine: DriverMachine) =>
    toProviderMachine(machine, { instanceSetId: INSTANCE_SET_ID, observedAtMs: clock.now() });
  const free = async (id = 'system-1', from = provider) => {
    const { machines } = await inTime(from.listMachines({}, call()));
    return machines.find(({ reservationId }) => reservationId === id)!;
  };
  async function request(change: Partial<CreateRequest> = {}): Promise<CreateRequest> {
    return {
      unused: seen(await free()),
      hostname: 'a1',
      plan: 'redfish',
      image: null,
      tags: tagsOf(WITNESS),
      initCommand: `#!/bin/sh\numask 0177\nprintf %s ${SECRET} > /root/secret`,
      publicKey: publicKeyLine(1),
      resumed: false,
      onAttempt: async () => undefined,
      ...change,
    };
  }
  const asked = (witness: string) => call({ operationId: witness });

  return {
    ...rack,
    /** A daemon that may die. It is never stopped. */
    mortal: (life: DaemonLife) =>
      rack.openBare(mortal(life, { clock, network: network!, records })),
    seedUrl,
    port,
    records,
    hosts,
    free,
    request,
    tagsOf,
    seen,
    async create(
      change: Partial<CreateRequest> = {},
      witness = WITNESS,
      from: Provider = provider,
    ) {
      return inTime(from.createMachine(await request(change), asked(witness)));
    },
    record: async (): Promise<ProviderRecord | undefined> => (await records.all({ signal }))[0],
    /** The record of the first machine. */
    claim: async () => {
      const [record] = await records.all({ signal });
      return record?.value as unknown as ClaimValue | undefined;
    },
    media: () => fake.bmcs()[0]!.systems[0]!.media,
    /** Lets time pass until the condition holds, with a check every ten seconds. */
    async until(isSo: () => Promise<boolean> | boolean, mostMs = 30 * 60_000) {
      const endMs = clock.monotonic() + mostMs;
      while (!(await isSo())) {
        if (clock.monotonic() >= endMs) throw new Error('it did not come about');
        await rack.after(10_000);
      }
    },
    /** The answer of the seed server. */
    async ask(path: string, method = 'GET') {
      const reply = await inTime(network!.fetch(`${seedUrl}${path}`, { method }));
      return { status: reply.status, text: await reply.text() };
    },
    /** The token of the inserted image. */
    token: () => /[a-z2-7]{52}/.exec(fake.bmcs()[0]!.systems[0]!.media[0]!.image ?? '')?.[0] ?? '',
  };
}

/** Hosts that consist only of the data on their disks. */
function createPaperHosts() {
  const hosts: { up: boolean; installs: number; disk: SimulatedDevice }[] = [];
  const of = (name: string) => hosts.find(({ disk }) => disk.id === name)!;
  return {
    list: () => hosts,
    async assign(disk: SimulatedDevice) {
      hosts.push({ up: false, installs: 0, disk });
      return { address: `127.0.0.${hosts.length + 1}`, sshPort: 22 };
    },
    async reinstalled(name: string, disk: SimulatedDevice) {
      const host = of(name);
      Object.assign(host, { disk, installs: host.installs + 1 });
    },
    up: async (name: string) => void (of(name).up = true),
    down: async (name: string) => void (of(name).up = false),
    isHanging: () => false,
  };
}

export type Installs = Awaited<ReturnType<typeof startInstalls>>;
