import type { Machines } from '../../kit/machines.ts';
import type { MachineHooks, SimulatedDevice } from '../../kit/hooks.ts';
import { OPERATING_SYSTEMS } from '../catalogue.ts';
import type { LatitudeServer, LatitudeWorld } from '../world.ts';

/** Makes the simulated machine behind a server follow the server's life. */
export function createServerMachines({ sshKeys }: LatitudeWorld, queue: Machines) {
  let paperCount = 0;
  const exists = (server: LatitudeServer) => queue.exist && !server.isPaper;
  const tell = (
    server: LatitudeServer,
    what: string,
    fn: (hooks: MachineHooks) => Promise<void>,
  ) => {
    if (exists(server)) queue.tell(server.id, what, fn);
  };
  const described = ({ id, hostname, deploy }: LatitudeServer): SimulatedDevice => ({
    ...{ id, hostname, authorizedKeys: [], userdata: null },
    user: OPERATING_SYSTEMS.find(({ slug }) => slug === deploy.operatingSystem)!.user,
  });
  const installed = (server: LatitudeServer): SimulatedDevice => {
    const { content, sshKeys: ids } = server.deploy;
    return {
      ...described(server),
      authorizedKeys: ids.flatMap((id) => sshKeys.get(id)?.publicKey ?? []),
      userdata: content === null ? null : Buffer.from(content, 'base64').toString(),
    };
  };

  return {
    /** Resolves when the server has its address. */
    async assign(server: LatitudeServer): Promise<void> {
      if (!exists(server)) {
        server.address = paperAddress(++paperCount);
        return;
      }
      await new Promise<void>((resolve) => {
        queue.tell(server.id, 'assign', async (hooks) => {
          try {
            server.address = (await hooks.assign(described(server))).address;
          } finally {
            resolve();
          }
        });
      });
    },
    /** Installs a new operating system on the machine and boots it. */
    install(server: LatitudeServer, isFirst: boolean): void {
      const system = installed(server);
      tell(server, 'install', async (hooks) => {
        if (isFirst) await hooks.assign(system);
        else await hooks.reinstalled(server.id, system);
        await hooks.up(server.id);
      });
    },
    up: (server: LatitudeServer): void => tell(server, 'up', (hooks) => hooks.up(server.id)),
    down: (server: LatitudeServer): void => tell(server, 'down', (hooks) => hooks.down(server.id)),
    gone: (server: LatitudeServer): void => tell(server, 'gone', (hooks) => hooks.gone(server.id)),
  };
}

/** In a network that is reserved for benchmarks (RFC 2544), so no real host answers. */
const paperAddress = (n: number): string =>
  `198.${18 + (Math.floor(n / 65_536) % 2)}.${Math.floor(n / 256) % 256}.${n % 256}`;
