/*
 * The Equinix Metal API: facts of the vendor's OpenAPI description (equinix-sdk-go, metal v1, the
 * last published one). A long line continues in the next one, which is indented.
 *
 * A type is `text`, `uuid`, `time` (RFC 3339), `date`, `ipv4`, `boolean`, `integer`, `number`,
 * `object` (of anything), `any`, the name of another resource, `=a|b` (one of these texts), `#4|6`
 * (one of these numbers), or a list of any of them in brackets. `!` at the end: the field is
 * required.
 */
export type FieldTypes = Readonly<Record<string, string>>;

const linesOf = (text: string): string[] => text.trim().replaceAll(/\n +/g, ' ').split('\n');

const tableOf = (text: string): Readonly<Record<string, FieldTypes>> =>
  Object.fromEntries(
    linesOf(text).map((line) => {
      const [name = '', fields = ''] = line.split(': ');
      return [name, Object.fromEntries(fields.split(', ').map((field) => field.split(' ')))];
    }),
  );

/** Replies of a server. */
export const resources = tableOf(`
Device: actions [object], always_pxe boolean, billing_cycle text, bonding_mode integer,
    created_at time, created_by UserLite, customdata object, description text, facility Facility,
    firmware_set_id uuid, hardware_reservation HardwareReservation, hostname text, href text,
    id uuid, image_url text, ip_addresses [IPAssignment], ipxe_script_url text, iqn text,
    locked boolean, metro Metro, network_frozen boolean, network_ports [Port],
    operating_system OperatingSystem, plan Plan, project Project, project_lite Href,
    provisioning_events [Event], provisioning_percentage number, root_password text,
    short_id text, sos text, spot_instance boolean, spot_price_max number, ssh_keys [Href],
    state =queued|provisioning|deprovisioning|reinstalling|active|inactive|failed|powering_on|powering_off|deleted,
    storage Storage, switch_uuid text, tags [text], termination_time time, updated_at time,
    user text, userdata text, volumes [Href]
HardwareReservation: created_at time, custom_rate number, device Device, facility Facility,
    href text, id uuid, need_of_service boolean, plan Plan, project Project,
    provisionable boolean, short_id text, spare boolean, switch_uuid text, termination_time time
SSHKey: created_at time, entity Href, fingerprint text, href text, id uuid, key text, label text,
    tags [text], updated_at time
Project: backend_transfer_enabled boolean, bgp_config Href, created_at time, customdata object,
    devices [Href], href text, id uuid, invitations [Href], max_devices object, members [Href],
    memberships [Href], name text, network_status object, organization Organization,
    payment_method Href, ssh_keys [Href], tags [text], type =default|vmce, updated_at time,
    url text, volumes [Href]
Plan: available_in [object], available_in_metros [object], categories [text], class text,
    deployment_types [=on_demand|spot_market], description text, id uuid, legacy boolean,
    line text, name text, pricing object, slug text, specs object,
    type =standard|workload_optimized|custom
Metro: code text, country text, id uuid, name text
Facility: address Address, code text,
    features [=baremetal|backend_transfer|layer_2|global_ipv4|ibx], id uuid, ip_ranges [text],
    metro Metro, name text
OperatingSystem: build_date date, default_operating_system boolean, deprecation_date date,
    distro text, distro_label text, end_of_life_date date, end_of_service_date date, id uuid,
    licensed boolean, lifecycle_state text, name text, preinstallable boolean, pricing object,
    provisionable_on [text], release_date date, release_notes text, slug text, version text
Event: body text, created_at time, href text, id uuid, interpolated text, ip text,
    modified_by object, relationships [Href], state text, type text
UserLite: id uuid!, short_id text!, avatar_thumb_url text, created_at time, email text,
    first_name text, full_name text, href text, last_name text, updated_at time
IPAssignment: address text, address_family integer, assigned_to Href, cidr integer,
    created_at time, enabled boolean, gateway text, global_ip boolean, href text, id uuid,
    manageable boolean, management boolean, metro Metro, netmask text, network text,
    next_hop ipv4, parent_block ParentBlock, public boolean, state =pending|active|deleting,
    type =IPAssignment
Address: address text!, country text!, zip_code text!, address2 text, city text,
    coordinates Coordinates, state text
Port: bond BondPortData, data PortData, disbond_operation_supported boolean, href text, id uuid,
    name text, native_virtual_network VirtualNetwork,
    network_type =layer2-bonded|layer2-individual|layer3|hybrid|hybrid-bonded,
    type =NetworkPort|NetworkBondPort, virtual_networks [VirtualNetwork]
PortData: bonded boolean, mac text
Meta: current_page integer, first Href, last Href, last_page integer, next Href, previous Href,
    self Href, total integer
Href: href text!
Error: error text, errors [text]
DeviceList: devices [Device], meta Meta
HardwareReservationList: hardware_reservations [HardwareReservation], meta Meta
EventList: events [Event], meta Meta
FacilityList: facilities [Facility]
OperatingSystemList: operating_systems [OperatingSystem]
PlanList: plans [Plan]
ProjectList: projects [Project], meta Meta
SSHKeyList: ssh_keys [SSHKey]
`);

/** Bodies sent by a client. A device needs `metro` or `facility`, unless it has a reservation. */
export const inputs = tableOf(`
DeviceCreateInput: operating_system text!, plan text!, metro text, facility any,
    always_pxe boolean,
    billing_cycle =hourly|daily|monthly|yearly, customdata object, description text,
    features [text], hardware_reservation_id text, hostname text, ip_addresses [IPAddress],
    ipxe_script_url text, locked boolean, network_frozen boolean, no_ssh_keys boolean,
    private_ipv4_subnet_size integer, project_ssh_keys [uuid], public_ipv4_subnet_size integer,
    spot_instance boolean, spot_price_max number, ssh_keys [SSHKeyInput], storage Storage,
    tags [text], termination_time time, user_ssh_keys [uuid], userdata text
DeviceUpdateInput: always_pxe boolean, billing_cycle text, customdata object, description text,
    firmware_set_id text, hostname text, ipxe_script_url text, locked boolean,
    network_frozen boolean, spot_instance boolean, tags [text], userdata text
DeviceActionInput: type =power_on|power_off|reboot|rescue|reinstall!, deprovision_fast boolean,
    force_delete boolean, ipxe_script_url text, operating_system text, preserve_data boolean
SSHKeyCreateInput: instances_ids [uuid], key text, label text, tags [text]
SSHKeyInput: key text, label text, tags [text]
ProjectCreateFromRootInput: name text!, customdata object, organization_id uuid,
    payment_method_id uuid, tags [text], type =default|vmce
IPAddress: address_family #4|6, cidr integer, ip_reservations [text], public boolean
HardwareReservationMoveInput: project_id uuid
`);

/** Resources without known fields: any object is accepted. */
export const opaque: ReadonlySet<string> = new Set([
  ...['BondPortData', 'Coordinates', 'Organization', 'ParentBlock', 'Storage', 'VirtualNetwork'],
]);

export interface PublishedOperation {
  readonly statuses: readonly number[];
  /** Names of the query parameters. */
  readonly query: readonly string[];
  /** The resource of a 2xx that is not empty. */
  readonly reply: string | undefined;
  /** The input of the request. */
  readonly body: string | undefined;
}

/**
 * The operations of the emulator, with placeholders below the base path: statuses, query
 * parameters, reply, body. Parameters are spelled as in a request: the description names some of
 * them differently (`PerPage`, `DeviceSearch`).
 *
 * What has a plus before it is not declared: a body that is not JSON is answered 400 everywhere; a
 * token of one project is answered 403 for a key of the user; the keys of a missing project, or of
 * another user's, are answered 404; a reservation in use cannot be moved (422). Without `sort_by`
 * pages of a list came in another order each time (seen in April 2023), so that devices were
 * missed; the service obeys it. Clients use the reservations of an organization.
 */
const OPERATIONS = `
DELETE /devices/{id} | 204 401 403 404 422 +400 | force_delete
GET /devices/{id} | 200 401 403 404 | include exclude | Device
PUT /devices/{id} | 200 401 403 404 422 +400 | include exclude | Device | DeviceUpdateInput
POST /devices/{id}/actions | 202 401 404 422 +400 |  |  | DeviceActionInput
GET /devices/{id}/events | 200 401 403 404 | include exclude page per_page | EventList
GET /facilities | 200 401 | include exclude | FacilityList
GET /hardware-reservations/{id} | 200 401 403 404 | include exclude | HardwareReservation
POST /hardware-reservations/{id}/move | 201 401 403 404 +422 +400 | include exclude |
    HardwareReservation | HardwareReservationMoveInput
GET /operating-systems | 200 401 |  | OperatingSystemList
GET /plans | 200 401 | categories[] type slug include exclude | PlanList
GET /projects | 200 401 | name include exclude page per_page | ProjectList
POST /projects | 201 401 422 +400 | include exclude | Project | ProjectCreateFromRootInput
DELETE /projects/{id} | 204 401 403 404 +400
GET /projects/{id}/devices | 200 401 403 404 | search categories facility metro hostname
    reserved tag type has_termination_time mac_address include exclude page per_page +sort_by
    +sort_direction | DeviceList
POST /projects/{id}/devices | 201 401 403 404 422 +400 | include exclude | Device |
    DeviceCreateInput
GET /projects/{id}/hardware-reservations | 200 401 403 404 | query state provisionable include
    exclude page per_page +sort_by +sort_direction | HardwareReservationList
GET /projects/{id}/plans | 200 401 403 404 | include exclude | PlanList
GET /projects/{id}/ssh-keys | 200 401 +404 | query include | SSHKeyList
POST /projects/{id}/ssh-keys | 201 401 422 +404 +400 | include | SSHKey | SSHKeyCreateInput
GET /ssh-keys | 200 401 | search include | SSHKeyList
POST /ssh-keys | 201 401 422 +403 +400 | include | SSHKey | SSHKeyCreateInput
DELETE /ssh-keys/{id} | 204 401 403 404 +400
GET /ssh-keys/{id} | 200 401 403 404 | include | SSHKey
PUT /ssh-keys/{id} | 200 401 403 404 422 +400 | include | SSHKey | SSHKeyInput
+GET /organizations/{id}/hardware-reservations | 200 401 403 404 | query state provisionable
    include exclude page per_page +sort_by +sort_direction | HardwareReservationList
`;

export const operations: Readonly<Record<string, PublishedOperation>> = Object.fromEntries(
  linesOf(OPERATIONS.replaceAll('+', '')).map((line) => {
    const [name = '', statuses = '', query = '', reply, body] = line.split('|');
    const trimmed = (text = '') => text.trim() || undefined;
    return [
      name.trim(),
      {
        statuses: statuses.trim().split(' ').map(Number),
        query: query.trim().split(' '),
        ...{ reply: trimmed(reply), body: trimmed(body) },
      },
    ];
  }),
);

/** An undeclared field of replies: real clients read the owner of an SSH key beside its entity. */
export const undeclaredFields: FieldTypes = { 'SSHKey.owner': 'Href' };

/** Fields declared as an href that `include` expands. */
export const openedBy: FieldTypes = {
  'Device.project_lite': 'Project',
  'Device.ssh_keys': 'SSHKey',
  'SSHKey.entity': 'Project',
  'SSHKey.owner': 'Project',
};

/** Relations that are an href until `include` names them; others are expanded until excluded. */
export const linked: ReadonlySet<string> = new Set([
  ...['Device.facility', 'Device.hardware_reservation', 'Device.metro', 'Device.project'],
  ...['HardwareReservation.device', 'HardwareReservation.facility', 'HardwareReservation.project'],
  'Project.organization',
]);
