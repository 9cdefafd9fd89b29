import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { SimulatedDevice } from '../kit/hooks.ts';
import { isPortFree, takeFreePort } from '../../src/adapters/network/free-port.ts';
import { createMachine } from './machine.ts';
import type { HostMachine } from './machine.ts';
import type { ServedRequest, SimulatedHosts, SimulatedHostsOptions } from './options.ts';
import { createProcessScan, killAll, processesByMachine } from './processes.ts';
import { generateHostKey } from './keys.ts';
import { takeFreeAddress } from './serving/addresses.ts';
import { LOOPBACK } from './ssh-server.ts';
import { loadRecords } from './record.ts';
import type { MachineRecord } from './record.ts';

/**
 * Machines of an earlier run in the same directory exist again, powered off, with port, host key
 * and disk. Their remaining programs are killed at power-on, or at `close`.
 * @throws {Error} the directory cannot be read or created.
 */
export function createSimulatedHosts(options: SimulatedHostsOptions): SimulatedHosts {
  const dir = resolve(options.dir);
  const machines = new Map<string, HostMachine>();
  const ports = new Set<number>();
  const addresses = new Set<string>();
  const listeners = new Set<(request: ServedRequest) => void>();
  const serving = options.serving && {
    ...options.serving,
    onRequest(deviceId: string) {
      const request = { deviceId, atMs: Date.now() };
      for (const listener of listeners) listener(request);
    },
  };
  const scan = createProcessScan();
  let closing: Promise<void> | undefined;

  const add = (record: MachineRecord) => {
    const home = join(dir, record.deviceId);
    const machine = createMachine(record, { ...options, home, scan, serving });
    machines.set(record.deviceId, machine);
    ports.add(record.port);
    if (record.address !== undefined) addresses.add(record.address);
    return machine;
  };
  const find = (deviceId: string) => {
    const machine = machines.get(deviceId);
    if (!machine) throw new Error(`no machine behind device ${deviceId}`);
    return machine;
  };
  for (const record of loadRecords(dir)) add(record);

  async function portFor(machine: HostMachine | undefined): Promise<number> {
    if (options.sshPort !== undefined) return options.sshPort;
    if (!machine) return takeFreePort(ports);
    const { port, address } = machine.system();
    if (machine.state().up || (await isPortFree(port, address))) return port;
    options.log.error(
      { device: machine.system().deviceId, port },
      'the port of a machine was taken; it gets a new one',
    );
    return takeFreePort(ports);
  }

  /** A machine of an earlier run keeps its address while nobody else uses it. */
  async function addressFor(known: HostMachine | undefined): Promise<string | undefined> {
    const address = known?.system().address;
    const wanted = serving?.port ?? options.sshPort;
    if (wanted === undefined || known?.state().up) return address;
    if (address === undefined) return takeFreeAddress(addresses, wanted);
    if (await isPortFree(wanted, address)) return address;
    const { deviceId: device } = known!.system();
    options.log.error({ device, address }, 'the address of a machine was taken; it gets a new one');
    return takeFreeAddress(addresses, wanted);
  }

  async function assign(device: SimulatedDevice): Promise<{ address: string; sshPort: number }> {
    if (closing) throw new Error('the simulated machines are closed');
    if (!/^[\w-][\w.-]*$/.test(device.id)) throw new Error(`bad device id "${device.id}"`);
    const { id: deviceId, hostname, authorizedKeys, userdata = null, user = 'root' } = device;
    const known = machines.get(deviceId);
    const port = await portFor(known);
    const address = await addressFor(known);
    const place = { port, ...(address !== undefined && { address }) };
    const machine =
      known ?? add({ deviceId, hostname, ...place, hostKey: generateHostKey(), authorizedKeys });
    await machine.update({ hostname, ...place, authorizedKeys, userdata, user });
    return { address: address ?? LOOPBACK, sshPort: port };
  }

  async function gone(deviceId: string): Promise<void> {
    const machine = machines.get(deviceId);
    if (!machine) return;
    await machine.remove();
    machines.delete(deviceId);
    const { port, address } = machine.system();
    ports.delete(port);
    if (address !== undefined) addresses.delete(address);
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...machines.values()].map((machine) => machine.close()));
    const ours = new Set([...machines.values()].map(({ bootIdFile }) => bootIdFile));
    await killAll(async () =>
      [...(await scan())].flatMap(([file, pids]) => (ours.has(file) ? pids : [])),
    );
    if (options.throwaway) await rm(dir, { recursive: true, force: true });
  }

  return {
    assign,
    gone,
    up: async (deviceId) => find(deviceId).on(),
    down: async (deviceId) => find(deviceId).off(),
    reinstalled: async (deviceId, { hostname, authorizedKeys, userdata = null, user = 'root' }) => {
      const hostKey = generateHostKey();
      await find(deviceId).install({ hostname, hostKey, authorizedKeys, userdata, user });
    },
    loseAgent: async (deviceId) => find(deviceId).loseAgent(),
    shortenAgents: (deviceId, lifeMs) => find(deviceId).programs.shorten(lifeMs),
    losePower: async (deviceId, on) => find(deviceId).losePower(on),
    cutAgents: (deviceIds, on) => {
      for (const deviceId of deviceIds) find(deviceId).programs.shut('cut', on);
    },
    hang: async (deviceId, on) => find(deviceId).hang(on),
    refuseSsh: async (deviceId, on, how = 'connection') =>
      find(deviceId).refuse(on ? how : undefined),
    isHanging: (deviceId) => find(deviceId).state().hanging,
    bootId: (deviceId) => find(deviceId).state().bootId,
    list: () => {
      const running = processesByMachine();
      return [...machines.values()].map((machine) =>
        machine.snapshot(running.get(machine.bootIdFile) ?? []),
      );
    },
    watchRequests(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => (closing ??= closeAll()),
  };
}
