import type { Machines } from '../../equinix/lifecycle/machines.ts';
import type { MachineHooks, SimulatedDevice } from '../../kit/hooks.ts';
import type { Core } from '../core.ts';
import { type Server, subjectOf } from '../state/world.ts';

/** The simulated machine behind a server follows what happens to the server. */
export interface ServerMachines {
  /** Resolves when the server's address is known. */
  assign(server: Server): Promise<void>;
  /** The address is published, where that waits for the deployment. */
  showAddress(server: Server): void;
  /** A new operating system, which boots. */
  install(server: Server, isFirst: boolean): void;
  up(server: Server): void;
  down(server: Server): void;
  gone(server: Server): void;
}

export function createServerMachines(core: Core, queue: Machines): ServerMachines {
  const { world, faults, knobs } = core;
  const known = new Map<string, string>();
  let paperCount = 0;
  const exists = (server: Server) => queue.exist && !server.isPaper;
  const tell = (server: Server, what: string, fn: (hooks: MachineHooks) => Promise<void>) => {
    if (exists(server)) queue.tell(server.id, what, fn);
  };
  const strikes = (type: 'userDataIgnored' | 'keyNotInstalled', server: Server) =>
    faults.strikeOne([type], subjectOf(server)) !== undefined;

  const contentOf = (server: Server): string | null => {
    const { content, userData: id } = server.deploy;
    if (knobs.userDataRead === 'atRequest') return content;
    return (id === null ? undefined : world.userData.get(id)?.content) ?? null;
  };
  const described = (server: Server): SimulatedDevice => {
    const { id, hostname, deploy } = server;
    const user = world.operatingSystems.find(({ slug }) => slug === deploy.operatingSystem)?.user;
    return {
      id,
      hostname,
      authorizedKeys: [],
      userdata: null,
      ...(user !== undefined && { user }),
    };
  };
  /** What an installation puts on the machine. */
  const installed = (server: Server): SimulatedDevice => {
    const keys = server.deploy.sshKeys.flatMap((id) => world.sshKeys.get(id)?.publicKey ?? []);
    const content = contentOf(server);
    const isIgnored = content === null || strikes('userDataIgnored', server);
    return {
      ...described(server),
      authorizedKeys: strikes('keyNotInstalled', server) ? [] : keys,
      userdata: isIgnored ? null : Buffer.from(content, 'base64').toString(),
    };
  };
  const publish = (server: Server, address: string) => {
    known.set(server.id, address);
    if (knobs.firstAddress === 'atOnce') server.address = address;
  };

  return {
    async assign(server) {
      if (!exists(server)) return publish(server, paperAddress(++paperCount));
      await new Promise<void>((resolve) => {
        queue.tell(server.id, 'assign', async (hooks) => {
          try {
            publish(server, (await hooks.assign(described(server))).address);
          } finally {
            resolve();
          }
        });
      });
    },
    showAddress(server) {
      server.address ??= known.get(server.id) ?? null;
    },
    install(server, isFirst) {
      const system = installed(server);
      tell(server, 'install', async (hooks) => {
        if (isFirst) await hooks.assign(system);
        else await hooks.reinstalled(server.id, system);
        await hooks.up(server.id);
      });
    },
    up: (server) => tell(server, 'up', (hooks) => hooks.up(server.id)),
    down: (server) => tell(server, 'down', (hooks) => hooks.down(server.id)),
    gone(server) {
      known.delete(server.id);
      tell(server, 'gone', (hooks) => hooks.gone(server.id));
    },
  };
}

/** Of networks that are set aside for benchmarks (RFC 2544), so nobody is there. */
export const paperAddress = (n: number): string =>
  `198.${18 + (Math.floor(n / 65_536) % 2)}.${Math.floor(n / 256) % 256}.${n % 256}`;
