import { createHash } from 'node:crypto';
import { publicBlobOf } from '../hosts/keys.ts';
import type { RobotCall } from './api.ts';
import { type AccountKey, armed, type BootConfig, type RobotServer } from './world.ts';

type RobotJson = Readonly<Record<string, unknown>>;

/** As OpenSSH wrote it before 2015: lower-case hexadecimal pairs with colons. */
export const md5Of = (blob: Buffer): string =>
  createHash('md5').update(blob).digest('hex').match(/../g)!.join(':');

/** Head of every reply about a machine. */
export const placeOf = ({ ip, ipv6Net, number }: RobotServer) => ({
  server_ip: ip,
  server_ipv6_net: ipv6Net,
  server_number: number,
});

/** A server in a list. */
export const serverView = (call: RobotCall, server: RobotServer): RobotJson => ({
  ...placeOf(server),
  server_name: server.shownName,
  product: server.product,
  dc: server.dc,
  traffic: 'unlimited',
  status: 'ready',
  cancelled: false,
  paid_until: '2027-01-31',
  ip: [server.ip],
  subnet: [{ ip: server.ipv6Net, mask: '64' }],
  linked_storagebox: null,
  ...call.strikeOf(server, 'fields')?.fields,
});

/** A single server. */
export const serverDetail = (call: RobotCall, server: RobotServer): RobotJson => ({
  ...serverView(call, server),
  reset: server.resetTypes !== null,
  rescue: server.hasRescue,
  vnc: true,
  windows: false,
  plesk: false,
  cpanel: false,
  wol: true,
  hot_swap: false,
});

export const resetView = (server: RobotServer): RobotJson => ({
  ...placeOf(server),
  type: server.resetTypes,
});

export const keyView = ({ name, fingerprint, type, sizeBits }: AccountKey): RobotJson => ({
  name,
  fingerprint,
  type,
  size: sizeBits,
});

export const keyDetail = (key: AccountKey): RobotJson => ({
  ...keyView(key),
  data: key.data,
  created_at: new Date(key.createdMs).toISOString().slice(0, 19).replace('T', ' '),
});

/** The choices. */
export const RESCUE_SYSTEMS = ['linux', 'linuxold', 'vkvm'];

/** Lists of choices while inactive; otherwise the choice. */
export function rescueView(call: RobotCall, server: RobotServer): RobotJson {
  const boot = armed(server, call.clock.now());
  return {
    ...placeOf(server),
    os: boot ? boot.system : RESCUE_SYSTEMS,
    arch: boot ? 64 : [64, 32],
    active: boot !== null,
    password: boot?.password ?? null,
    authorized_key: (boot?.keys ?? []).map((key) => ({ key: keyView(key) })),
    host_key: boot ? hostKeysOf(call, server, boot) : [],
    boot_time: null,
  };
}

/** An unattended installation, which nobody arms. */
export const linuxView = (server: RobotServer): RobotJson => ({
  ...placeOf(server),
  dist: ['Debian 12 base', 'Debian 13 base', 'Ubuntu 24.04 LTS base'],
  lang: ['en', 'de'],
  arch: [64, 32],
  active: false,
  password: null,
  authorized_key: [],
  host_key: [],
  boot_time: null,
});

/** Empty, as in every known example, unless a fault overrides it. */
function hostKeysOf(
  call: RobotCall,
  server: RobotServer,
  { hostKey }: BootConfig,
): readonly unknown[] {
  const fault = call.strikeOf(server, 'hostKey');
  if (!fault) return [];
  const right = md5Of(publicBlobOf(hostKey));
  const fingerprint = fault.shows === 'right' ? right : right.split(':').toReversed().join(':');
  return [{ key: { fingerprint, type: 'ED25519', size: 256 } }];
}
