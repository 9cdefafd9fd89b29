import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRedfishEmulator } from '../../emulators/redfish/emulator.ts';
import type {
  RedfishEmulatorOptions,
  SystemHooks,
  SystemIdentity,
} from '../../emulators/redfish/options.ts';
import { takeFreePort } from '../../src/adapters/network/free-port.ts';
import { HOST_INSIDE, startQemu, type MachineOptions, type VirtualMachine } from './qemu.ts';

/** A virtual machine behind a BMC. */
export interface Machine {
  readonly identity: SystemIdentity;
  readonly sshPort: number;
  readonly disk: string;
  /** Null: off. */
  on: VirtualMachine | null;
  /** What its serial console has shown since the beginning. */
  console(): string;
}

export interface RackOptions extends Pick<RedfishEmulatorOptions, 'systems' | 'startsOn'> {
  readonly dir: string;
  /** Writes the disk of a new machine. */
  readonly writeDisk: (file: string) => void;
  /** Machines that have UEFI, by name. */
  readonly uefi?: readonly string[];
  /** Switches a machine on. Default: QEMU. */
  readonly start?: (options: MachineOptions) => Promise<VirtualMachine>;
}

/** The real machines take their own time: their BMC adds little. */
const TIMINGS = { offMs: 100, onMs: 100, gracefulMs: 0, postMs: 500 };

/** Virtual machines behind BMCs that speak Redfish. */
export async function startRack(rack: RackOptions) {
  const { dir, writeDisk, uefi = [], start = startQemu, ...options } = rack;
  const machines = new Map<string, Machine>();
  const ports = new Set<number>();
  const peak = { bytes: 0 };
  const off = async (machine: Machine) => {
    const { on } = machine;
    peak.bytes = Math.max(peak.bytes, on?.memory() ?? 0);
    machine.on = null;
    await on?.kill();
  };
  const hooks: SystemHooks = {
    async assign(identity) {
      const path = join(dir, identity.name);
      const disk = `${path}.disk`;
      writeFileSync(`${path}.console`, '');
      writeDisk(disk);
      const console = () => readFileSync(`${path}.console`, 'latin1');
      const sshPort = await takeFreePort(ports);
      machines.set(identity.name, { identity, disk, sshPort, console, on: null });
    },
    down: (name) => off(machines.get(name)!),
    async boot(name, { address }, { restart }) {
      const machine = machines.get(name)!;
      const path = join(dir, name);
      const cd = address === null ? undefined : `${path}.iso`;
      if (cd !== undefined)
        writeFileSync(cd, await download(address!.replace(HOST_INSIDE, '127.0.0.1')));
      const { identity, disk, sshPort } = machine;
      const on = await start({ identity, path, disk, cd, sshPort, uefi: uefi.includes(name) });
      machine.on = on;
      void on.ended.then((why) => {
        if (why === 'reset') restart();
      });
      return undefined;
    },
    async heeds(name) {
      const { on } = machines.get(name)!;
      await on?.press();
      return (await on?.ended) === 'shutdown';
    },
  };
  const bmcs = await startRedfishEmulator({
    ...{ listen: { host: '127.0.0.1', port: 0 }, timings: TIMINGS, hooks },
    ...options,
  });
  return {
    bmcs,
    peak,
    machine: (n = 1) => machines.get(`system-${n}`)!,
    /** What an inventory must tell of a machine. */
    entry(n = 1) {
      const { identity, sshPort } = machines.get(`system-${n}`)!;
      const { url, certSha256 } = bmcs.bmcs()[n - 1]!;
      const bmc = { Bmc: url, CertSha256: certSha256, Serial: identity.serial, Mac: identity.mac };
      return { ...bmc, Addr: '127.0.0.1', SshPort: sshPort, Location: 'rack-7' };
    },
    /** What a BMC was asked to do with its machine, in order. */
    resets: (n = 1) =>
      bmcs.requests().flatMap(({ bmc, route, body, status }) => {
        const isReset = bmc === `bmc-${n}` && route.endsWith('ComputerSystem.Reset');
        return isReset && status! < 300 ? [(body as { ResetType: string }).ResetType] : [];
      }),
    async close() {
      await bmcs.close();
      await Promise.all([...machines.values()].map(off));
    },
  };
}

async function download(url: string): Promise<Buffer> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}
