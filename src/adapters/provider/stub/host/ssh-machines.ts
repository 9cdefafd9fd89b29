import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { StubDevice, StubMachines } from '../device.ts';
import { type ConnectionDeps, serveConnection } from './connection.ts';
import { bootHost, createHost, generateHostKey, type Host, publicBlobOf } from './host.ts';

export interface SshMachinesDeps extends ConnectionDeps {
  /** OpenSSH PEM of a new system; a new one each time when absent. */
  readonly hostKeyFor?: (device: StubDevice) => string;
}

const HOST = '127.0.0.1';

interface Entry {
  /** Another one after a reinstall; its ports stay. */
  host: Host;
  readonly servers: Server[];
  readonly sockets: Set<Socket>;
}

/**
 * Machines that answer SSH on loopback, each on ports of its own, to the key that its installation
 * was given. One that is off breaks every connection at once.
 */
export function createSshMachines(deps: SshMachinesDeps): StubMachines {
  const { clock, faults } = deps;
  const entries = new Map<string, Entry>();
  const newKey = deps.hostKeyFor ?? generateHostKey;
  let closed = false;

  function serve(entry: Entry, socket: Socket) {
    entry.sockets.add(socket);
    socket.on('close', () => entry.sockets.delete(socket));
    if (entry.host.on) serveConnection(socket, entry.host, deps);
    else socket.destroy();
  }

  async function listen(entry: Entry): Promise<Server> {
    const server = createServer({ noDelay: true, pauseOnConnect: true }, (socket) =>
      serve(entry, socket),
    );
    entry.servers.push(server);
    server.listen(0, HOST);
    await once(server, 'listening');
    return server;
  }

  /** A second port only where addresses are to change. */
  async function addressesOf(entry: Entry): Promise<readonly string[]> {
    const wanted = faults.known('address-changing') ? 2 : 1;
    while (entry.servers.length < wanted && !closed) await listen(entry);
    return entry.servers.flatMap((server) => {
      const address = server.address() as AddressInfo | null;
      return address ? [`${HOST}:${address.port}`] : [];
    });
  }

  function cut({ host, sockets }: Entry) {
    host.on = false;
    for (const socket of sockets) socket.destroy();
  }

  const endServer = (server: Server) =>
    new Promise<void>((resolve) => void server.close(() => resolve()));

  return {
    installed(device) {
      const entry = entries.get(device.id);
      const host = createHost(device, newKey(device));
      if (entry) entry.host = { ...host, connections: entry.host.connections };
      else entries.set(device.id, { host, servers: [], sockets: new Set() });
    },
    up(device) {
      const entry = entries.get(device.id)!;
      bootHost(entry.host, device, clock.now());
      return addressesOf(entry);
    },
    down(device, cause) {
      const entry = entries.get(device.id);
      if (!entry) return;
      cut(entry);
      if (cause !== 'gone') return;
      entries.delete(device.id);
      for (const server of entry.servers) server.close();
    },
    hostKeyOf(id) {
      const host = entries.get(id)?.host;
      return host ? publicBlobOf(host.hostKey) : null;
    },
    async close() {
      closed = true;
      const servers = [...entries.values()].flatMap((entry) => {
        cut(entry);
        return entry.servers;
      });
      entries.clear();
      await Promise.all(servers.map(endServer));
    },
  };
}
