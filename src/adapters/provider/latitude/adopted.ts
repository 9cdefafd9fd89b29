import type { createOperations } from '../../driver-kit/api.ts';
import type { Call } from '../../driver-kit/call.ts';
import type { AdoptionVendor, VendorServer } from '../../driver-kit/inventory/adoption.ts';
import type { Clock } from '../../clock/port.ts';
import type { Walked } from '../../driver-kit/pages.ts';
import type { CallOptions } from '../port.ts';
import { isId, type Server } from './api.ts';
import type { Actions } from './changes.ts';
import type { Routes } from './routes.ts';
import type { LatitudeConfig } from './settings.ts';
import { addressOf, standingOf } from './view.ts';

/** How Latitude.sh names servers. */
export const LATITUDE_NAMING = {
  what: 'the id of the server at Latitude.sh (sv_…), or use it as the ID',
  fits: isId,
};

/** A listing serves single looks for this long, and the rest of the same round. */
const RECENT_MS = 60_000;
/** After a change, a server is read singly for this long: an old list contradicts the change. */
const CHANGING_MS = 10 * 60_000;

/** The same routes; remembers the last list of servers. */
export function rememberingList(routes: Routes, clock: Pick<Clock, 'monotonic'>) {
  let last: { readonly list: Walked<Server>; readonly atMs: number } | null = null;
  return {
    routes: {
      ...routes,
      async listServers(call: Call): Promise<Walked<Server>> {
        const atMs = clock.monotonic();
        last = { list: await routes.listServers(call), atMs };
        return last.list;
      },
    },
    recent: (sinceMs: number): Walked<Server> | null =>
      last !== null && last.atMs >= sinceMs ? last.list : null,
  };
}

interface AdoptedServer extends VendorServer {
  readonly told: Server;
}

/**
 * The vendor's part in adoption.
 * @param isNamed whether a name is one of the machines that this provider creates.
 */
export function createLatitudeAdoption(
  { project }: Pick<LatitudeConfig, 'project'>,
  deps: {
    readonly operations: Pick<ReturnType<typeof createOperations>, 'run'>;
    readonly routes: Routes;
    readonly recent: ReturnType<typeof rememberingList>['recent'];
    readonly actions: Actions;
    readonly clock: Pick<Clock, 'monotonic'>;
    readonly isNamed: (hostname: string | undefined) => boolean;
  },
): AdoptionVendor<AdoptedServer> {
  const { routes, recent, actions, clock, isNamed } = deps;
  const { run } = deps.operations;
  /** Monotonic time of the last change of each server. */
  const changedMs = new Map<string, number>();

  function shown(told: Server): AdoptedServer {
    const { primary_ipv4: v4 = '', primary_ipv6: v6 = '' } = told;
    const { status, power } = standingOf(told.status ?? 'unknown', false);
    return {
      ...{ told, server: told.id, plan: told.plan?.slug ?? '', hostname: told.hostname ?? null },
      location: told.region?.site?.slug ?? told.site ?? null,
      ...{ status, power },
      host: addressOf(told)?.replace(/[[\]]/g, '') ?? null,
      addresses: [v4, v6].filter((address) => address !== ''),
      isInstalled: isNamed(told.hostname),
    };
  }

  const isHere = ({ project: its }: Server) => its?.id === undefined || its.id === project;

  async function read(id: string, call: Call): Promise<AdoptedServer> {
    const told = await routes.getServer(call, id);
    if (isHere(told)) return shown(told);
    throw call.error('not-found', `server ${id} is in another project now`);
  }
  const refOf = (action: string, { server }: AdoptedServer, { operationId }: CallOptions) => ({
    operationRef: `${action}/${server}/${operationId}`,
  });

  return {
    naming: LATITUDE_NAMING,
    async list(how, beganMs) {
      const list =
        recent(beganMs) ??
        (await run('cannot list servers', how, (call) => routes.listServers(call), true));
      const { items, unread, complete } = list;
      return {
        servers: items.filter(isHere).map(shown),
        unreadable: unread.flatMap(({ id }) => id ?? []),
        complete,
      };
    },
    get: (id, use, how) =>
      run(
        `cannot get server ${id}`,
        how,
        async (call) => {
          const nowMs = clock.monotonic();
          if (use === 'change') changedMs.set(id, nowMs);
          const isChanging = nowMs - (changedMs.get(id) ?? -Infinity) < CHANGING_MS;
          const known = isChanging ? null : recent(nowMs - RECENT_MS);
          const entry = known?.items.find((each) => each.id === id && isHere(each));
          return entry ? shown(entry) : read(id, call);
        },
        true,
      ),
    async reboot(server, _mode, how) {
      await run(`cannot reboot server ${server.server}`, how, (call) =>
        actions.reboot(call, { server: server.told, isYoung: false }, how),
      );
      return refOf('reboot', server, how);
    },
    async setPower(server, want, how) {
      await run(`cannot switch ${want} server ${server.server}`, how, (call) =>
        actions.power(call, { server: server.told, isYoung: false }, want, how),
      );
      return refOf(`power-${want}`, server, how);
    },
    serverOf: ({ id }) => id,
  };
}
