import type { EquinixCore } from '../core.ts';
import { PROVISIONING_STEPS } from '../life/timings.ts';
import { fingerprintOf } from '../state/ssh-key-text.ts';
import { stableId, type Facility, type Article } from '../state/catalogue.ts';
import {
  isProvisionable,
  type Address,
  type EquinixDevice,
  type EventRecord,
  type Project,
  type Reservation,
  type EquinixSshKey,
} from '../state/state.ts';
import type { Lag } from './call.ts';
import { inline, linkTo, type Node } from './expansion.ts';

export type Views = ReturnType<typeof createViews>;

const PASSWORD_SHOWN_MS = 86_400_000;
const PHYSICAL_PORTS = ['eth0', 'eth1'];
/** The user is older than any test's clock. */
const SINCE = '2019-03-01T09:00:00Z';
/** Hardware of every plan. */
const SPECS = {
  cpus: [{ count: 1, type: 'AMD EPYC 7502P' }],
  memory: { total: '256GB' },
  drives: [{ count: 2, size: '240GB', type: 'SSD', category: 'boot' }],
  nics: [{ count: 2, type: '25Gbps' }],
  features: { raid: false },
};

/** Resources as the API shows them, before expansion. */
export function createViews({
  state,
  timings,
  now,
}: Pick<EquinixCore, 'state' | 'timings' | 'now'>) {
  const { catalogue } = state;
  /** ISO 8601 in UTC, in whole seconds unless time runs a hundred times as fast. */
  const time = (atMs: number): string => {
    const text = new Date(atMs).toISOString();
    return timings.queuedMs >= 1_000 ? text.replace(/\.\d{3}Z$/, 'Z') : text;
  };
  const link = (path: string) => ({ href: path });
  const find = <T>(list: readonly T[], fits: (item: T) => boolean): T => list.find(fits)!;
  const facilityAt = (code: string) => find(catalogue.facilities, (one) => one.code === code);
  const metroOf = ({ metro }: Facility) => find(catalogue.metros, (one) => one.code === metro);

  const metro = (at: Facility): Node => ({ ...metroOf(at) });
  const facility = (one: Facility): Node => ({
    id: one.id,
    code: one.code,
    name: one.name,
    features: ['baremetal', 'backend_transfer', 'layer_2', 'global_ipv4', 'ibx'],
    ip_ranges: ['198.18.0.0/15', '2001:db8::/32'],
    address: {
      address: `${one.name} data centre`,
      city: metroOf(one).name,
      country: metroOf(one).country,
      zip_code: '00000',
    },
    metro: metro(one),
  });
  const plan = ({ id, slug, name }: Article): Node => ({
    ...{ id, slug, name, class: slug, description: `${name} machine` },
    ...{ line: 'baremetal', type: 'standard', legacy: false, categories: ['compute'] },
    deployment_types: ['on_demand'],
    available_in: catalogue.facilities.map((one) => link(`/facilities/${one.id}`)),
    available_in_metros: catalogue.metros.map((one) => link(`/locations/metros/${one.id}`)),
    pricing: { hour: 3.1 },
    specs: SPECS,
  });
  /** A slug is a distribution and its version: `ubuntu_22_04`. */
  const operatingSystem = ({ id, slug, name }: Article): Node => {
    const [distro = slug, ...version] = slug.split('_');
    return {
      ...{ id, slug, name, distro, distro_label: distro, version: version.join('.') },
      ...{ licensed: false, lifecycle_state: 'active', preinstallable: true, pricing: {} },
      default_operating_system: slug === 'ubuntu_24_04',
      provisionable_on: catalogue.plans.map((one) => one.slug),
    };
  };
  const planRef = (slug: string) => {
    const found = find(catalogue.plans, (one) => one.slug === slug);
    return inline(`/plans/${found.id}`, () => plan(found));
  };
  const facilityRef = (code: string) =>
    linkTo(`/facilities/${facilityAt(code).id}`, () => facility(facilityAt(code)));

  const userPath = `/users/${state.userId}`;
  const user = {
    ...{ id: state.userId, short_id: state.userId.slice(0, 8), href: userPath },
    ...{ first_name: 'Fleet', last_name: 'Operator', full_name: 'Fleet Operator' },
    ...{ email: 'operator@fleet.example', created_at: SINCE, updated_at: SINCE },
    avatar_thumb_url: 'https://avatars.example/fleet.png',
  };
  const projectRef = (id: string) =>
    linkTo(`/projects/${id}`, () => project(state.projects.get(id)!));
  const project = ({ id, name, createdAtMs }: Project): Node => {
    const ofIt = <T extends { readonly projectId: string | null }>(list: Map<string, T>) =>
      [...list.values()].filter((one) => one.projectId === id);
    return {
      ...{ id, name, href: `/projects/${id}`, type: 'default', tags: [], customdata: {} },
      ...{ created_at: time(createdAtMs), updated_at: time(createdAtMs) },
      ...{ backend_transfer_enabled: false, max_devices: {}, network_status: {} },
      organization: link(`/organizations/${state.organizationId}`),
      payment_method: link(`/payment-methods/${stableId('payment method')}`),
      members: [link(userPath)],
      memberships: [link(`/memberships/${stableId(`member of ${id}`)}`)],
      ...{ invitations: [], volumes: [], bgp_config: link(`/projects/${id}/bgp-config`) },
      devices: ofIt(state.devices).map((one) => link(`/devices/${one.id}`)),
      ssh_keys: ofIt(state.sshKeys).map((one) => link(`/ssh-keys/${one.id}`)),
    };
  };

  const sshKey = (key: EquinixSshKey): Node => {
    const owner = key.projectId === null ? link(userPath) : projectRef(key.projectId);
    return {
      ...{ id: key.id, label: key.label, key: key.key, tags: key.tags },
      fingerprint: fingerprintOf(key.key),
      ...{ created_at: time(key.createdAtMs), updated_at: time(key.updatedAtMs) },
      ...{ entity: owner, owner, href: `/ssh-keys/${key.id}` },
    };
  };

  const event = ({ id, type, body, atMs }: EventRecord, { id: deviceId }: EquinixDevice): Node => ({
    ...{ id, type, body, interpolated: body, created_at: time(atMs), href: `/events/${id}` },
    relationships: [link(`/devices/${deviceId}`)],
  });
  /** The steps of the installation; future steps have no time. */
  const stepsOf = (device: EquinixDevice) => {
    const { installation } = device;
    if (!installation) return [];
    const untilMs = Math.min(now(), installation.brokenAtMs ?? Infinity);
    return PROVISIONING_STEPS.map(({ code, body, at }) => {
      const afterMs =
        at === 'addresses' ? timings.addressesMs : timings.queuedMs + at * timings.provisioningMs;
      const atMs = installation.sinceMs + afterMs;
      const id = stableId(`${device.id} ${code}`);
      return { id, type: `provisioning.${code}`, body, atMs: atMs <= untilMs ? atMs : null };
    });
  };
  /** Newest first. */
  const eventsOf = (device: EquinixDevice): EventRecord[] => {
    const reached = stepsOf(device).flatMap(({ atMs, ...step }) =>
      atMs === null ? [] : [{ ...step, atMs }],
    );
    return [...device.events, ...reached].toReversed().toSorted((a, b) => b.atMs - a.atMs);
  };
  /** In percent, with one decimal. */
  const percentageOf = (device: EquinixDevice): number => {
    const steps = stepsOf(device);
    const done = steps.filter(({ atMs }) => atMs !== null).length;
    return Math.round((done / Math.max(1, steps.length)) * 1_000) / 10;
  };

  const address = (one: Address, { createdAtMs, facility: code, id }: EquinixDevice): Node => ({
    ...{ id: one.id, type: 'IPAssignment', state: 'active', created_at: time(createdAtMs) },
    ...{ address: one.address, address_family: one.family, public: one.public, cidr: one.cidr },
    ...{ netmask: one.netmask, network: one.network, gateway: one.gateway },
    ...{ management: true, manageable: true, global_ip: false, enabled: true },
    metro: metro(facilityAt(code)),
    assigned_to: link(`/devices/${id}`),
    href: `/ips/${one.id}`,
  });

  const device = (one: EquinixDevice, lag: Lag): Node => {
    const { id, fields, machine } = one;
    const reservation = state.reservations.get(one.reservationId ?? '');
    const at = facilityAt(one.facility);
    const system = find(catalogue.operatingSystems, ({ slug }) => slug === one.operatingSystem);
    return {
      ...{ id, short_id: id.slice(0, 8), href: `/devices/${id}`, ...fields, state: one.state },
      ...{ created_at: time(one.createdAtMs), updated_at: time(one.updatedAtMs), user: 'root' },
      created_by: inline(userPath, () => user),
      root_password: now() - one.createdAtMs < PASSWORD_SHOWN_MS ? one.rootPassword : undefined,
      customdata: {
        ...fields.customdata,
        ...(machine.sshPort !== null && { ssh_port: machine.sshPort }),
      },
      provisioning_percentage: one.state === 'provisioning' ? percentageOf(one) : undefined,
      provisioning_events: stepsOf(one).map(({ atMs, ...step }) => ({
        ...step,
        id: atMs === null ? null : step.id,
        created_at: atMs === null ? null : time(atMs),
      })),
      ip_addresses: one.addresses.map((each) => address(each, one)),
      network_ports: portsOf(id),
      ...{ bonding_mode: 4, switch_uuid: id.slice(0, 6), network_frozen: false, volumes: [] },
      iqn: `iqn.2026-08.example.emulator:device.${id.slice(0, 8)}`,
      sos: `${id}@sos.${one.facility}.emulator.example`,
      actions: actionsOf(one).map((type) => ({ type, name: type })),
      plan: planRef(one.plan),
      operating_system: inline(`/operating-systems/${system.id}`, () => operatingSystem(system)),
      facility: facilityRef(one.facility),
      metro: linkTo(`/locations/metros/${metroOf(at).id}`, () => metro(at)),
      project: projectRef(one.projectId),
      project_lite: projectRef(one.projectId),
      ssh_keys: one.sshKeyIds.flatMap((keyId) => {
        const key = state.sshKeys.get(keyId);
        return key ? [linkTo(`/ssh-keys/${keyId}`, () => sshKey(key))] : [];
      }),
      hardware_reservation:
        reservation &&
        linkTo(`/hardware-reservations/${reservation.id}`, () => reservationNode(reservation, lag)),
    };
  };

  /** Null when there is none; a deleted device is a dead link. */
  const deviceOn = (id: string | null, lag: Lag) => {
    if (id === null) return null;
    const found = state.devices.get(id);
    if (!found || found.state === 'deleted') return link(`/devices/${id}`);
    return linkTo(`/devices/${id}`, () => device(found, lag));
  };
  const reservationNode = (one: Reservation, lag: Lag): Node => {
    const { id, deviceId, spare } = one;
    const lagMs = lag.reservationMs;
    // The oldest state younger than the lag; none when nothing changed since.
    const past = one.past.find(({ untilMs }) => lagMs > 0 && now() - untilMs < lagMs);
    const seen = past ?? { deviceId, free: isProvisionable(one) };
    return {
      ...{ id, short_id: id.slice(0, 8), href: `/hardware-reservations/${id}`, spare },
      ...{ provisionable: seen.free, need_of_service: one.needOfService },
      ...{ switch_uuid: id.slice(0, 6), created_at: time(one.createdAtMs), custom_rate: 3.1 },
      plan: planRef(one.plan),
      facility: facilityRef(one.facility),
      project: projectRef(one.projectId),
      device: deviceOn(seen.deviceId, lag),
    };
  };

  return {
    ...{ device, reservation: reservationNode, sshKey, project, event, eventsOf },
    ...{ plan, operatingSystem, facility },
  };
}

const actionsOf = ({ state, fields: { locked } }: EquinixDevice): string[] => {
  const reinstall = locked ? [] : ['reinstall'];
  if (state === 'active') return ['power_off', 'reboot', ...reinstall];
  return state === 'inactive' ? ['power_on', ...reinstall] : [];
};

/** A machine's ports: two network ports, bonded into one. */
function portsOf(deviceId: string): object[] {
  const id = (name: string) => stableId(`port ${name} of ${deviceId}`);
  const port = (name: string) => ({
    ...{ id: id(name), name, href: `/ports/${id(name)}`, virtual_networks: [] },
    disbond_operation_supported: true,
  });
  return [
    { ...port('bond0'), type: 'NetworkBondPort', network_type: 'layer3', data: { bonded: true } },
    ...PHYSICAL_PORTS.map((name) => ({
      ...{ ...port(name), type: 'NetworkPort', bond: { id: id('bond0'), name: 'bond0' } },
      data: { bonded: true, mac: macOf(id(name)) },
    })),
  ];
}

/** A locally administered address: bit two of the first byte is set. */
const macOf = (id: string): string => ['02', ...(id.slice(-10).match(/../g) ?? [])].join(':');
