import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { WAIT } from './daemon.ts';
import { CODE_MB, MEMORY_MB, memoryOf, type MachineOptions, type VirtualMachine } from './qemu.ts';

/** The user that libvirt runs as here: `nobody`, so that it neither reads nor changes the system's. */
const USER = 65_534;

/** Starts a libvirt of its own, whose machines a rack may have. @throws {Error} it does not start. */
export async function startLibvirt(dir: string) {
  const home = join(dir, 'libvirt');
  const settings = join(home, 'config/libvirt/qemu.conf');
  chmodSync(dir, 0o711);
  mkdirSync(dirname(settings), { recursive: true });
  writeFileSync(settings, 'stdio_handler = "file"\n');
  await run('chown', ['-R', `${USER}:${USER}`, home]);
  const env = {
    ...{ ...process.env, HOME: home, XDG_RUNTIME_DIR: join(home, 'run') },
    ...{ XDG_CONFIG_HOME: join(home, 'config'), XDG_CACHE_HOME: join(home, 'cache') },
  };
  const asUser = [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'];
  const server = spawn('setpriv', [...asUser, 'libvirtd'], { env, stdio: 'ignore' });
  const ended = once(server, 'exit');
  const virsh = async (...args: string[]): Promise<string> =>
    (await run('setpriv', [...asUser, 'virsh', '-q', '-c', 'qemu:///session', ...args], { env }))
      .stdout;
  const stop = async () => {
    server.kill('SIGTERM');
    await ended;
  };
  const isUp = () =>
    virsh('uri').then(
      () => true,
      () => false,
    );
  await vi.waitUntil(() => server.exitCode !== null || isUp(), WAIT);
  if (server.exitCode !== null) throw new Error(`libvirtd ended with ${server.exitCode}`);

  async function start(options: MachineOptions): Promise<VirtualMachine> {
    const { identity, path, disk } = options;
    const { name } = identity;
    for (const file of [disk, `${path}.console`]) chownSync(file, USER, USER);
    writeFileSync(`${path}.xml`, domainOf(options));
    await virsh('define', `${path}.xml`);
    await virsh('start', name);
    const [pidFile] = globSync(join(home, `**/${name}.pid`));
    const pid = Number(readFileSync(pidFile!, 'utf8'));
    const state = () => virsh('domstate', '--reason', name);
    const off = vi.waitUntil(async () => /shut off \((\w+)\)/.exec(await state()), {
      ...{ timeout: 2 ** 31 - 1, interval: 1_000 },
    });
    return {
      ended: off.then(([, why]) => (why === 'shutdown' ? 'shutdown' : 'killed')),
      // Refused for a suspended machine, which would not heed either.
      press: () => virsh('shutdown', '--mode', 'acpi', name).then(nothing, nothing),
      freeze: async () => void (await virsh('suspend', name)),
      cut: () => Promise.reject(new Error('it has no network of libvirt')),
      // The last look, too, is over then: a later one would start another libvirtd.
      kill: async () => {
        await virsh('destroy', name).catch(nothing);
        await off;
      },
      memory: () => memoryOf({ pid }),
    };
  }
  return { start, stop };
}
const run = promisify(execFile);
const nothing = () => undefined;

const domainOf = ({ identity, path, disk, sshPort }: MachineOptions): string => `
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>${identity.name}</name>
  <uuid>${identity.uuid}</uuid>
  <memory unit='MiB'>${MEMORY_MB}</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type><boot dev='hd'/></os>
  <features><acpi/><tcg><tb-cache unit='MiB'>${CODE_MB}</tb-cache></tcg></features>
  <on_reboot>destroy</on_reboot>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw' cache='unsafe'/><source file='${disk}'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    <serial type='file'><source path='${path}.console' append='on'/></serial>
    <memballoon model='none'/>
  </devices>
  <qemu:commandline>
    <qemu:env name='SHEPHERD_TEST_RUN' value='${process.env['SHEPHERD_TEST_RUN']}'/>
    <qemu:arg value='-netdev'/>
    <qemu:arg value='user,id=net,hostfwd=tcp:127.0.0.1:${sshPort}-:22'/>
    <qemu:arg value='-device'/>
    <qemu:arg value='virtio-net-pci,netdev=net,bus=pcie.0,addr=0x10,mac=${identity.mac},romfile='/>
  </qemu:commandline>
</domain>
`;
