import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { listenAt } from '../../emulators/kit/listen.ts';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';
import { createMemoryRecords } from '../../src/adapters/driver-kit/memory-shell.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { staticDriver } from '../../src/adapters/provider/static/driver.ts';
import { createFleetDriverShell } from '../../src/adapters/ssh/driver-shell.ts';
import { buildInstaller } from '../../src/commands/installer/build-installer.ts';
import { providerName } from '../../src/domain/ids.ts';
import { SECRET_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { recordingLog } from '../doubles/recording-log.ts';
import { createSeededRandom } from '../doubles/simulated-clock.ts';
import { callOf, driverContext, publicKeyLine } from '../adapters/provider/driver-stand.ts';
import { STORY_LIMIT_MS, WAIT } from './daemon.ts';
import { debianKernel } from './debian-kernel.ts';
import { buildDisk } from './guest.ts';
import { buildImage } from './installer-image.ts';
import { runQemu } from './installer-vm.ts';
import { HOST_INSIDE, startQemu } from './qemu.ts';
import { hasMachines, openStand } from './stand.ts';

const SECRET = 'the-secret-of-this-machine';

test.runIf(hasMachines)(
  'a machine of a list is installed from its own system by kexec, and boots what was written',
  async () => {
    const { dir, agent, guest, key, onMachine } = await openStand();
    const installer = join(dir, 'installer');
    const append = 'no_timer_check';
    await buildInstaller({
      directory: installer,
      deb: debianKernel(),
      root: '/',
      modules: [],
      append,
    });
    const image = await buildImage(dir, installer, append);
    const images = createServer((_request, response) => response.end(image));
    const { port: imagePort, close } = await listenAt(images, { host: '127.0.0.1', port: 0 });
    onTestFinished(close);

    const disk = join(dir, 'machine.disk');
    const hasAgent = false;
    const hostKey = buildDisk(disk, { guest, agent, hasAgent, authorizedKey: key.publicLine });
    const [sshPort, seedPort] = [await takeFreePort(new Set()), await takeFreePort(new Set())];
    const identity = {
      name: 'vm',
      serial: 'vm',
      uuid: '00000000-0000-4000-8000-000000000001',
      mac: '52:54:00:00:00:07',
    };
    const options = {
      identity: identity as never,
      path: join(dir, 'vm'),
      disk,
      sshPort,
      uefi: false,
    };
    const machine = await startQemu(options);
    onTestFinished(() => machine.kill());
    // As a rented server has it.
    const routed = () =>
      onMachine(sshPort, 'ip route replace default via 10.0.2.2').then(() => true);
    await vi.waitUntil(() => routed().catch(() => false), WAIT);

    const entry = { ID: 'vm', Addr: '127.0.0.1', SshPort: sshPort, Location: '', HostKey: hostKey };
    writeFileSync(join(dir, 'machines.json'), JSON.stringify([entry]));
    const around = { env: { SEED_KEY: 'k'.repeat(40) }, baseDirectory: dir, checkFiles: true };
    const settings = staticDriver
      .settings(around)
      .parse({
        inventory: 'file:machines.json',
        install: {
          ...{
            installer,
            seedListen: `127.0.0.1:${seedPort}`,
            seedUrl: `http://${HOST_INSIDE}:${seedPort}`,
          },
          image: {
            url: `http://${HOST_INSIDE}:${imagePort}/image`,
            sha256: createHash('sha256').update(image).digest('hex'),
          },
          seedKey: '${SEED_KEY}',
        },
      });
    const log = recordingLog();
    const records = createMemoryRecords(createSeededRandom(3))(providerName('rack'));
    const shell = createFleetDriverShell({ signers: () => [key], clock: systemClock, log });
    const context = { clock: systemClock, log, records, shell };
    const provider = staticDriver.open(settings as never, driverContext('rack', context));
    onTestFinished(() => provider.stop());
    const tags = { [SECRET_TAG]: createHash('sha256').update(SECRET).digest('hex') };
    const request = { image: null, tags, initCommand: SECRET, publicKey: publicKeyLine(1) };
    await provider.reinstallMachine('vm', request, callOf()).catch((error: unknown) => {
      throw new Error(readFileSync(join(dir, 'vm.console'), 'utf8').slice(-3_000), {
        cause: error,
      });
    });
    const shown = () => provider.getMachine('vm', callOf());
    expect(await shown()).toMatchObject({ status: 'Provisioning' });
    // The machine resets itself once the installer has reported.
    expect(await machine.ended).toBe('reset');
    expect(await shown()).toMatchObject({ failed: false, tags });
    expect(await shown()).not.toHaveProperty('hostKey');

    const told = await runQemu({ directory: dir, firmware: 'bios', disk, more: ['-nic', 'none'] });
    expect(told).toContain('the new system is up');
    expect(told).toContain(SECRET);
    // Its address was not from DHCP, so the new system gets it, too.
    expect(told).toContain('addresses: ["10.0.2.15/24"]');
    expect(told).toContain('via: "10.0.2.2"');
  },
  STORY_LIMIT_MS,
);
