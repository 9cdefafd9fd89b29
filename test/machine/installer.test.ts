import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createMemoryRecords } from '../../src/adapters/driver-kit/memory-shell.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { BmcEntry } from '../../src/adapters/provider/redfish/entries.ts';
import { createClaims, hashOfToken } from '../../src/adapters/provider/redfish/install/claims.ts';
import { createInstallerFiles } from '../../src/adapters/provider/redfish/install/installer-files.ts';
import { createSeedServer } from '../../src/adapters/provider/redfish/install/seed-server.ts';
import {
  createSealing,
  createSeedService,
  type Report,
} from '../../src/adapters/provider/redfish/install/seed-service.ts';
import type { InstallSettings } from '../../src/adapters/provider/redfish/settings.ts';
import { buildInstaller } from '../../src/commands/installer/build-installer.ts';
import { providerName } from '../../src/domain/ids.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { isProvided } from '../support/programs.ts';
import { debianKernel } from './debian-kernel.ts';
import { buildImage } from './installer-image.ts';
import { type Firmware, QEMU, runQemu, USER_NETWORK } from './installer-vm.ts';

const hasQemu = isProvided(existsSync(QEMU), {
  tested: 'the installer on a virtual machine',
  by: 'qemu-system-x86 ovmf busybox-static grub-pc-bin grub-efi-amd64-bin xorriso mtools zstd',
});
const TOKEN = 'a'.repeat(52);
const SECRET = 'the-secret-of-this-machine';
const LIMIT_MS = 45 * 60_000;
const directory = mkdtempSync(join(tmpdir(), 'shepherd-machine-'));
const installer = join(directory, 'installer');
let image: Buffer = Buffer.alloc(0);

beforeAll(async () => {
  if (!hasQemu) return;
  // The test of this timer fails on a busy computer without KVM.
  const append = 'no_timer_check';
  await buildInstaller({
    directory: installer,
    deb: debianKernel(),
    root: '/',
    modules: [],
    append,
  });
  image = await buildImage(directory, installer, append);
}, LIMIT_MS);
afterAll(() => rmSync(directory, { recursive: true }));

/** The seed server of a daemon, with one installation in progress. */
async function startSeeds(change: Partial<NonNullable<InstallSettings['image']>> = {}) {
  const images = createServer((_request, response) => response.end(zstdCompressSync(image)));
  await new Promise<void>((resolve) => images.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void images.close());
  const lifetime = new AbortController();
  const claims = createClaims(createMemoryRecords(createSeededRandom(1))(providerName('rack')));
  const sealing = createSealing(() => 'a key of the test', 'rack');
  const seed = {
    instanceId: 'vm-1',
    hostname: 'vm',
    publicKey: 'ssh-ed25519 AAAA',
    initCommand: SECRET,
    os: 'default',
  };
  const entry = { id: 'vm', address: '127.0.0.1', disk: 'DISK1' } as BmcEntry;
  await claims.make(
    'vm',
    {
      ...{
        set: 'ours',
        witness: 'witness',
        hostname: 'vm',
        place: null,
        tags: {},
        order: 'create',
        result: null,
      },
      install: {
        ...{
          method: 'vmedia',
          template: null,
          phase: 'installing',
          tokenSha256: hashOfToken(TOKEN),
        },
        sealed: sealing.seal(JSON.stringify({ token: TOKEN, seed }), 'vm'),
        ...{
          askedAtMs: Date.now(),
          deadlineMs: Date.now() + LIMIT_MS,
          isAnswered: false,
          self: null,
        },
      },
    },
    lifetime.signal,
  );
  const reports: Report[] = [];
  const sha256 = createHash('sha256').update(image).digest('hex');
  const url = `http://10.0.2.2:${(images.address() as AddressInfo).port}/image.zst`;
  const options = {
    installer,
    image: { url, sha256, compression: 'zstd', ...change },
  } as InstallSettings;
  const service = createSeedService(
    {
      ...{ claims, sealing, options, lifetime: lifetime.signal, entries: async () => [entry] },
      installer: createInstallerFiles(installer),
      seedUrl: async () => (await server.url()).replace('127.0.0.1', '10.0.2.2'),
      ended: async (_entry, _token, report) => void reports.push(report),
    },
    { log: silentLog, clock: systemClock, instanceSetId: 'ours' },
  );
  const server = createSeedServer({
    at: { host: '127.0.0.1', port: 0 },
    service,
    clock: systemClock,
    log: silentLog,
  });
  onTestFinished(() => server.close());
  return { url: `${await server.url()}/s/${TOKEN}/`, reports };
}

interface Way {
  readonly firmware: (url: string) => Firmware;
  readonly arguments: (iso: string) => readonly string[];
}
/** How a machine gets the ISO of a seed. */
const WAYS: Readonly<Record<'bios' | 'uefi' | 'http', Way>> = {
  bios: { firmware: () => 'bios', arguments: (iso: string) => ['-cdrom', iso, '-boot', 'd'] },
  uefi: { firmware: () => 'uefi', arguments: (iso: string) => ['-cdrom', iso] },
  http: { firmware: (url: string) => ({ url }), arguments: () => [] },
};

/** A machine that boots the ISO of this seed, and then what is on its disk. */
async function install(way: keyof typeof WAYS, seedUrl: string) {
  const disk = join(directory, 'disk.raw');
  writeFileSync(disk, 'the old system');
  truncateSync(disk, 64 * 1024 * 1024);
  const iso = join(directory, 'seeded.iso');
  writeFileSync(iso, Buffer.from(await (await fetch(`${seedUrl}installer.iso`)).arrayBuffer()));
  const { firmware, arguments: more } = WAYS[way];
  const url = `${seedUrl.replace('127.0.0.1', '10.0.2.2')}installer.iso`;
  const booted = {
    directory,
    disk,
    firmware: firmware(url),
    more: [...more(iso), ...USER_NETWORK],
  };
  const told = await runQemu(booted);
  const own = {
    directory,
    disk,
    firmware: way === 'bios' ? way : 'uefi',
    more: ['-nic', 'none'],
  } as const;
  return { told, disk, boot: () => runQemu(own) };
}

/** Installs, and boots the disk that was written. */
async function installAndBoot(way: keyof typeof WAYS): Promise<void> {
  const { url, reports } = await startSeeds();
  const { told, disk, boot } = await install(way, url);
  expect(reports, told.slice(-3_000)).toEqual([{ end: 'done', reason: null }]);
  const start = readFileSync(disk).subarray(0, 1_000_000);
  expect(start.equals(image.subarray(0, start.length))).toBe(true);
  const shown = await boot();
  expect(shown).toContain('the new system is up');
  expect(shown).toContain(SECRET);
  expect(shown).toContain('instance-id: vm-1');
  expect(shown).toMatch(/-rw-------.* user-data/);
}

const then = 'and the machine boots from its disk with its seed';
test.runIf(hasQemu)(
  `a virtual CD installs by BIOS, ${then}`,
  () => installAndBoot('bios'),
  LIMIT_MS,
);
test.runIf(hasQemu)(
  `a virtual CD installs by UEFI, ${then}`,
  () => installAndBoot('uefi'),
  LIMIT_MS,
);
test.runIf(hasQemu)(`UEFI HTTP boot installs, ${then}`, () => installAndBoot('http'), LIMIT_MS);

test.runIf(hasQemu)(
  'an image with another SHA-256 is told, and does not boot',
  async () => {
    const { url, reports } = await startSeeds({ sha256: 'f'.repeat(64) });
    const { disk } = await install('bios', url);
    expect(reports).toMatchObject([
      {
        end: 'failed',
        reason: expect.stringMatching(/^the image has SHA-256 [0-9a-f]{64}, not f{64}$/) as unknown,
      },
    ]);
    expect(
      readFileSync(disk)
        .subarray(0, 4 * 1024 * 1024)
        .every((byte) => byte === 0),
    ).toBe(true);
  },
  LIMIT_MS,
);
