import type { AdoptionVendor, VendorServer } from '../../driver-kit/inventory/adoption.ts';
import type { Server } from './api.ts';
import { refOf, type Buttons } from './changes.ts';
import type { Sending } from './client.ts';
import { addressOf, classifyName, serverOfSlot, type Prefixes } from './mapping.ts';
import type { Claims, RobotParts } from './parts.ts';
import type { Resets } from './rescue.ts';

/** A server on the list of adopted ones, as Robot reports it. */
interface AdoptedServer extends VendorServer {
  readonly number: number;
}

/** How Robot names servers. */
export const ROBOT_NAMING = {
  what: 'the number of the server in Robot, or use it as the ID',
  fits: (server: string) => serverOfSlot(server) !== null,
};

/** Robot's part in adoption. @param prefixes null: this provider installs no servers. */
export function createRobotAdoption(
  { config: { plan }, servers, claims, clock }: RobotParts,
  {
    buttons,
    resets,
    prefixes,
  }: { readonly buttons: Buttons; readonly resets: Resets; readonly prefixes: Prefixes | null },
): AdoptionVendor<AdoptedServer> {
  /** Also by another instance set with the same records. */
  function isInstalled({ number, name }: Server, { ours, untouchable }: Claims): boolean {
    if (ours.has(number) || untouchable.has(number)) return true;
    if (prefixes === null) return false;
    const { kind } = classifyName(name, prefixes);
    return kind === 'ours' || kind === 'leaving';
  }
  const shown = (server: Server, all: Claims): AdoptedServer => ({
    server: String(server.number),
    number: server.number,
    plan: plan[String(server.number)] ?? server.product,
    location: server.location,
    hostname: server.name,
    host: addressOf(server)?.replace(/[[\]]/g, '') ?? null,
    addresses: [
      ...new Set([
        ...(server.ipv4 ? [server.ipv4] : []),
        ...server.ips,
        ...(server.ipv6Net ? [`${bare(server.ipv6Net)}/64`] : []),
        ...server.nets,
      ]),
    ],
    isInstalled: isInstalled(server, all),
  });

  return {
    naming: ROBOT_NAMING,
    async list(call) {
      const { servers: listed, unreadable, nameless } = await servers.list(call);
      const all = await claims.all(call);
      return {
        servers: listed.map((server) => shown(server, all)),
        unreadable: unreadable.map(String),
        complete: nameless === 0,
      };
    },
    async get(server, use, call) {
      const number = serverOfSlot(server)!;
      const all = await claims.all(call);
      const found = shown(await servers[use === 'change' ? 'read' : 'get'](number, call), all);
      return use === 'change' ? found : { ...found, power: await buttons.powerOf(number, call) };
    },
    async reboot({ number }, mode, call) {
      const ready = (how: Sending) => resets.requireUnarmed(number, how);
      await buttons.reboot(number, mode, call, ready);
      return refOf(`reboot-${mode}`, String(number), clock);
    },
    async setPower({ number }, want, call) {
      const ready = (how: Sending) => resets.requireUnarmed(number, how);
      // Otherwise it could not be switched on again.
      if (want === 'off') await ready(call);
      await buttons.switchPower(number, want, call, ready);
      return refOf(`power-${want}`, String(number), clock);
    },
    serverOf: ({ reservationId }) => reservationId,
  };
}

const bare = (net: string): string => net.replace(/\/\d+$/, '');
