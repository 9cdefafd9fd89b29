import { createMemoryDisk, type MemoryDisk } from '../../../../../emulators/hosts/disk.ts';
import { createHost, type Host, type HostSystem } from '../../../../../emulators/hosts/host.ts';
import { generateHostKey, publicBlobOf } from '../../../../../emulators/hosts/keys.ts';
import { listenSsh, type SshServer } from '../../../../../emulators/hosts/ssh-server.ts';
import type { StubDevice, StubMachines } from '../device.ts';
import { type ConnectionDeps, visitOf } from './connection.ts';
import type { Job } from './runner.ts';

/** One machine behind a device. Changed in place. */
export interface StubHost {
  readonly machine: Host<HostSystem>;
  readonly disk: MemoryDisk;
  /** Jobs that run, or whose lock is left. */
  readonly jobs: Map<string, Job>;
  /** What it shows instead when its key is said to have changed. */
  readonly otherKey: string;
  /** As of its last boot. */
  device: StubDevice;
  /** Epoch milliseconds of the last boot. */
  bootedAtMs: number;
  /** Connections so far. */
  connections: number;
  /** They stay over a reinstall. */
  readonly servers: SshServer[];
}

/**
 * Machines that answer SSH on loopback, each on ports of its own, to the key that its installation
 * was given. One that is off breaks every connection at once.
 */
export function createSshMachines(deps: ConnectionDeps): StubMachines {
  const { clock, faults, log } = deps;
  const hosts = new Map<string, StubHost>();
  let closed = false;

  function hostOf(device: StubDevice): StubHost {
    const disk = createMemoryDisk(log);
    const jobs = new Map<string, Job>();
    const servers: SshServer[] = [];
    const machine = createHost<HostSystem>(systemOf(device), {
      disk,
      newBootId: () => host.device.bootId,
      programs: {
        async end() {
          const { size } = jobs;
          jobs.clear();
          return size;
        },
      },
      door: {
        open: async () => undefined,
        async close() {
          for (const server of servers) server.cut();
        },
      },
    });
    const otherKey = generateHostKey();
    const named = { device, machine, disk, jobs, servers, otherKey };
    const host: StubHost = { ...named, bootedAtMs: 0, connections: 0 };
    return host;
  }

  async function listen(host: StubHost): Promise<void> {
    const server = await listenSsh({
      port: 0,
      log,
      visit(socket) {
        if (host.machine.state().up) return visitOf(socket, host, deps);
        socket.destroy();
        return null;
      },
    });
    host.servers.push(server);
    if (hosts.get(host.device.id) !== host) await server.close();
  }

  /** A second port only where addresses are to change. */
  async function addressesOf(host: StubHost): Promise<readonly string[]> {
    const wanted = faults.known('address-changing') ? 2 : 1;
    while (host.servers.length < wanted && !closed) await listen(host);
    return closed ? [] : host.servers.map(({ port }) => `127.0.0.1:${port}`);
  }

  async function end({ machine, servers }: StubHost): Promise<void> {
    await machine.close();
    await Promise.all(servers.map((server) => server.close()));
  }

  const attend = (work: Promise<void>) => {
    work.catch((err: unknown) => log.error({ err }, 'a machine of the stub does not obey'));
  };

  return {
    installed(device) {
      const known = hosts.get(device.id);
      if (known) attend(known.machine.install(systemOf(device)));
      else hosts.set(device.id, hostOf(device));
    },
    async up(device) {
      const host = hosts.get(device.id)!;
      host.device = device;
      host.bootedAtMs = clock.now();
      await host.machine.on();
      return addressesOf(host);
    },
    down({ id }, cause) {
      const host = hosts.get(id);
      if (!host) return;
      if (cause !== 'gone') return attend(host.machine.off());
      hosts.delete(id);
      attend(end(host));
    },
    hostKeyOf(id) {
      const host = hosts.get(id);
      return host ? publicBlobOf(host.machine.system().hostKey) : null;
    },
    async close() {
      closed = true;
      const all = [...hosts.values()];
      hosts.clear();
      await Promise.all(all.map(end));
    },
  };
}

const systemOf = ({ installation: { publicKey, initCommand } }: StubDevice): HostSystem => ({
  hostKey: generateHostKey(),
  authorizedKeys: publicKey === '' ? [] : [publicKey],
  userdata: initCommand,
});
