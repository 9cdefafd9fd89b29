import { createReadStream, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listenAt } from '../../emulators/kit/listen.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { shepherd } from '../e2e/commands.ts';
import { isHealthy, startDaemon, STORY_LIMIT_MS } from './daemon.ts';
import { debianKernel } from './debian-kernel.ts';
import { buildDisk, sh } from './guest.ts';
import { HOST_INSIDE } from './qemu.ts';
import { startRack } from './rack.ts';
import { hasMachines, openStand } from './stand.ts';

const [BIOS, UEFI] = ['srv-1', 'srv-2'] as const;

test.runIf(hasMachines)(
  'installs two machines over their disks, by BIOS and by UEFI, reinstalls one, and gives it back',
  async () => {
    const { dir, agent, guest } = await openStand();
    const content = { guest, agent, hasAgent: true };
    const image = join(dir, 'image');
    buildDisk(image, { ...content, authorizedKey: null });
    const sha256 = sh('sha256sum "$1" | cut -c -64; gzip -1 "$1"', image).trim();
    const images = createServer((_, response) => createReadStream(`${image}.gz`).pipe(response));
    const { port, close } = await listenAt(images, { host: '127.0.0.1', port: 0 });
    onTestFinished(close);
    const installer = join(dir, 'installer');
    const build = ['redfish', 'build-iso', installer, '--deb', debianKernel()];
    const built = await shepherd([...build, '--append', 'no_timer_check']).ended;
    expect(built, built.stderr).toMatchObject({ code: 0 });
    const rack = await startRack({
      ...{ dir, systems: 2, uefi: ['system-2'] },
      // Their disks have an owner, who cannot be asked.
      writeDisk: (file) => void buildDisk(file, { ...content, authorizedKey: '' }),
    });
    onTestFinished(rack.close);
    const inventory = [
      { ID: BIOS, ...rack.entry(1) },
      { ID: UEFI, ...rack.entry(2) },
    ];
    writeFileSync(join(dir, 'inventory.json'), JSON.stringify(inventory));
    const seeds = await takeFreePort(new Set());
    const install = {
      ...{ method: 'vmedia', installer },
      image: { url: `http://${HOST_INSIDE}:${port}/image.gz`, sha256, compression: 'gzip' },
      ...{ seedListen: `127.0.0.1:${seeds}`, seedUrl: `http://${HOST_INSIDE}:${seeds}` },
      seedKey: '${SEED_KEY}',
    };
    const { credentials } = rack.bmcs;
    const daemon = await startDaemon({ dir, agent, credentials, rack: { install } });
    onTestFinished(async () => void (await daemon.stop()));
    const counted = (n: number, words: string) => rack.machine(n).console().split(words).length - 1;
    const system = (n: number) => rack.bmcs.bmcs()[n - 1]!.systems[0]!;
    const isEjected = (n: number) => system(n).media.every(({ image: each }) => each === null);

    const first = await daemon.becomes(BIOS, isHealthy);
    const other = await daemon.becomes(UEFI, isHealthy);
    for (const n of [1, 2]) {
      const said = ['has the image', 'reboot: Restarting system', 'machine: boot 1,'];
      expect(said.map((words) => counted(n, words))).toEqual([1, 1, 1]);
      expect([rack.resets(n), isEjected(n)]).toEqual([['On'], true]);
    }
    expect([1, 2].map((n) => counted(n, 'EFI'))).toEqual([0, expect.any(Number)]);

    await daemon.command('machine', 'reinstall', `rack/${BIOS}`, '--reason', 'test', '--yes');
    const second = await daemon.becomes(
      BIOS,
      (now) => isHealthy(now) && now.agent!.startedAtMs > first.agent!.startedAtMs,
    );
    expect(counted(1, 'machine: boot 1,')).toBe(2);
    expect(second.hostKey).not.toBe(first.hostKey);
    expect(rack.resets(1)).toEqual(['On', 'ForceOff', 'On']);

    await daemon.command('machine', 'deprovision', `rack/${BIOS}`, '--reason', 'test', '--yes');
    await daemon.becomes(BIOS, ({ state }) => state === 'Reserved');
    expect(system(1)).toMatchObject({ power: 'Off', boot: { enabled: 'Disabled' } });
    expect([isEjected(1), rack.machine(1).on]).toEqual([true, null]);
    // Nothing happened to the other one meanwhile, and each login was by a session that was kept.
    const { agent: still } = await daemon.becomes(UEFI, isHealthy);
    expect(still!.bootId).toBe(other.agent!.bootId);
    expect(rack.resets(2)).toEqual(['On']);
    const logins = new Set(rack.bmcs.requests().map(({ auth }) => auth));
    expect([...logins].toSorted()).toEqual(['none', 'session']);
    expect(rack.bmcs.bmcs().map(({ sessionsMost }) => sessionsMost)).toEqual([1, 1]);
    await daemon.tell(BIOS, rack.peak.bytes);
  },
  STORY_LIMIT_MS,
);
