import type { Disturbance } from './call.ts';
import type { Core } from '../core.ts';
import type { Address, Device, EventRecord, Reservation, SshKey, Token } from '../state/state.ts';
import type { Metro } from '../state/catalogue.ts';
import { createAccountViews, type AccountViews } from './account-views.ts';
import { createCatalogueViews, type CatalogueViews } from './catalogue-views.ts';
import { isVisible, timeText } from '../core.ts';
import { isProvisionable } from '../state/state.ts';
import { inline, linkTo, type Node, type Ref } from './expansion.ts';
import { planFactsOf } from '../state/catalogue-facts.ts';
import { networkPortsOf } from './network-ports.ts';
import { fingerprintOf } from '../state/ssh-key-text.ts';

/** Resources as the API shows them, before expansion. */
export interface Views extends AccountViews, CatalogueViews {
  device(device: Device, reader: Reader): Node;
  reservation(reservation: Reservation, reader: Reader): Node;
  sshKey(key: SshKey): Node;
  event(event: EventRecord, subject: string): Node;
}

/** Who reads, and how far behind. */
export interface Reader {
  readonly caller: Token;
  readonly disturbance: Disturbance;
}

const PASSWORD_SHOWN_MS = 86_400_000;

export function createViews(core: Core): Views {
  const { state, knobs } = core;
  const href = (path: string) => `${knobs.hrefPrefix}${path}`;
  const time = (atMs: number) => timeText(core, atMs);
  const find = <T>(list: readonly T[], fits: (item: T) => boolean): T => list.find(fits)!;

  const planRef = (slug: string): Ref => {
    const plan = find(state.catalogue.plans, (one) => one.slug === slug);
    return inline(href(`/plans/${plan.id}`), () => views.plan(plan));
  };
  const metroOf = (facilityCode: string): Metro => {
    const facility = find(state.catalogue.facilities, (one) => one.code === facilityCode);
    return find(state.catalogue.metros, (one) => one.code === facility.metro);
  };
  const facilityRef = (code: string): Ref => {
    const facility = find(state.catalogue.facilities, (one) => one.code === code);
    return linkTo(href(`/facilities/${facility.id}`), () => views.facility(facility));
  };
  const metroRef = (metro: Metro): Ref =>
    linkTo(href(`/locations/metros/${metro.id}`), () => views.metro(metro));
  const projectRef = (id: string): Ref =>
    linkTo(href(`/projects/${id}`), () => account.summary(state.projects.get(id)!));

  const provisioning = (device: Device) => ({
    provisioning_percentage: device.state === 'provisioning' ? percentageOf(device) : undefined,
    provisioning_events: device.steps.map((step) => {
      const event = device.events.find((one) => one.id === step.eventId);
      return {
        id: event?.id ?? null,
        type: `provisioning.${step.code}`,
        body: step.body,
        created_at: event ? time(event.atMs) : null,
      };
    }),
  });
  const address = (one: Address, device: Device): Node => ({
    id: one.id,
    type: 'IPAssignment',
    state: 'active',
    created_at: time(device.createdAtMs),
    address: one.address,
    address_family: one.family,
    public: one.public,
    management: true,
    manageable: true,
    global_ip: false,
    enabled: true,
    metro: views.metro(metroOf(device.facility)),
    cidr: one.cidr,
    netmask: one.netmask,
    network: one.network,
    gateway: one.gateway,
    assigned_to: { href: href(`/devices/${device.id}`) },
    href: href(`/ips/${one.id}`),
  });

  /** Null when there is none, or none that can be seen; one that is gone is a dead link. */
  const deviceOn = (id: string | null, reader: Reader): Ref | { href: string } | null => {
    if (id === null) return null;
    const device = state.devices.get(id);
    if (!device) return { href: href(`/devices/${id}`) };
    if (!isVisible(core, device)) return null;
    return linkTo(href(`/devices/${id}`), () => views.device(device, reader));
  };

  const account = createAccountViews(core, (key) => views.sshKey(key));
  const views: Views = {
    ...account,
    ...createCatalogueViews(core),
    device: (device, reader) => {
      const reservation = state.reservations.get(device.reservationId ?? '');
      const owner = !reader.caller.readOnly;
      return {
        id: device.id,
        short_id: device.id.slice(0, 8),
        href: href(`/devices/${device.id}`),
        hostname: device.hostname,
        description: device.description ?? undefined,
        state: asItWas(core, device.past, reader.disturbance.staleDeviceMs)?.state ?? device.state,
        tags: device.tags,
        created_at: time(device.createdAtMs),
        updated_at: time(device.updatedAtMs),
        created_by: inline(account.userRef(organizationIdOf(device)).href, () =>
          account.userLite(organizationIdOf(device)),
        ),
        locked: device.locked,
        billing_cycle: device.billingCycle,
        network_frozen: device.networkFrozen,
        user: 'root',
        root_password:
          owner && core.now() - device.createdAtMs < PASSWORD_SHOWN_MS
            ? device.rootPassword
            : undefined,
        userdata: device.userdata ?? '',
        customdata: {
          ...device.customdata,
          ...(device.machine.sshPort === null ? {} : { ssh_port: device.machine.sshPort }),
        },
        always_pxe: device.alwaysPxe,
        ipxe_script_url: device.ipxeScriptUrl ?? undefined,
        spot_instance: device.spotInstance,
        spot_price_max: device.spotPriceMax ?? undefined,
        termination_time:
          device.terminationTimeMs === null ? undefined : time(device.terminationTimeMs),
        storage: device.storage ?? undefined,
        firmware_set_id: device.firmwareSetId ?? undefined,
        ...provisioning(device),
        ip_addresses: device.addresses.map((one) => address(one, device)),
        network_ports: networkPortsOf(device.id, href),
        bonding_mode: 4,
        switch_uuid: reservation?.switchUuid ?? device.id.slice(0, 6),
        iqn: `iqn.2026-08.example.fakequinix:device.${device.id.slice(0, 8)}`,
        sos: `${device.id}@sos.${device.facility}.fakequinix.example`,
        volumes: [],
        actions: actionsOf(device).map((type) => ({ type, name: type })),
        plan: planRef(device.plan),
        operating_system: inline(href(`/operating-systems/${systemOf(device).id}`), () =>
          views.operatingSystem(systemOf(device)),
        ),
        facility: facilityRef(device.facility),
        metro: metroRef(metroOf(device.facility)),
        project: projectRef(device.projectId),
        project_lite: projectRef(device.projectId),
        ssh_keys: device.sshKeyIds.flatMap((id) => {
          const key = state.sshKeys.get(id);
          return key ? [linkTo(href(`/ssh-keys/${id}`), () => views.sshKey(key))] : [];
        }),
        hardware_reservation: reservation
          ? linkTo(href(`/hardware-reservations/${reservation.id}`), () =>
              views.reservation(reservation, reader),
            )
          : undefined,
      };
    },
    reservation: (reservation, reader) => {
      const lagMs = reader.disturbance.staleReservationMs;
      const seen = asItWas(core, reservation.past, lagMs) ?? {
        deviceId: reservation.deviceId,
        free: isProvisionable(reservation),
      };
      return {
        id: reservation.id,
        short_id: reservation.id.slice(0, 8),
        href: href(`/hardware-reservations/${reservation.id}`),
        provisionable: seen.free,
        spare: reservation.spare,
        need_of_service: reservation.needOfService,
        switch_uuid: reservation.switchUuid,
        created_at: time(reservation.createdAtMs),
        custom_rate: planFactsOf(reservation.plan).hourPrice,
        termination_time:
          reservation.terminationTimeMs === null ? undefined : time(reservation.terminationTimeMs),
        plan: planRef(reservation.plan),
        facility: facilityRef(reservation.facility),
        project: projectRef(reservation.projectId),
        device: deviceOn(seen.deviceId, reader),
      };
    },
    sshKey: (key) => {
      const owner =
        key.projectId === null ? account.userRef(key.organizationId) : projectRef(key.projectId);
      return {
        id: key.id,
        label: key.label,
        key: key.key,
        fingerprint: fingerprintOf(key.key),
        created_at: time(key.createdAtMs),
        updated_at: time(key.updatedAtMs),
        entity: owner,
        owner,
        href: href(`/ssh-keys/${key.id}`),
        tags: key.tags ?? [],
      };
    },
    event: (event, subject) => ({
      id: event.id,
      type: event.type,
      body: event.body,
      interpolated: event.body,
      created_at: time(event.atMs),
      relationships: [{ href: href(subject) }],
      href: href(`/events/${event.id}`),
    }),
  };
  const systemOf = (device: Device) =>
    find(state.catalogue.operatingSystems, (one) => one.slug === device.operatingSystem);
  const organizationIdOf = (device: Device) => state.projects.get(device.projectId)!.organizationId;
  return views;
}

/** Done steps of all, in percent with one decimal. */
const percentageOf = ({ steps }: Device): number => {
  const done = steps.filter((step) => step.eventId !== null).length;
  return Math.round((done / Math.max(1, steps.length)) * 1_000) / 10;
};

const actionsOf = ({ state, locked }: Device): string[] => {
  if (state === 'active') {
    return ['power_off', 'reboot', 'rescue', ...(locked ? [] : ['reinstall'])];
  }
  if (state === 'inactive') return ['power_on', ...(locked ? [] : ['reinstall'])];
  return state === 'failed' ? ['reboot', ...(locked ? [] : ['reinstall'])] : [];
};

/** The oldest of the past that is younger than the lag; undefined when nothing changed since. */
const asItWas = <T extends { readonly untilMs: number }>(
  core: Core,
  past: readonly T[],
  lagMs: number,
): T | undefined =>
  lagMs > 0 ? past.find(({ untilMs }) => core.now() - untilMs < lagMs) : undefined;
