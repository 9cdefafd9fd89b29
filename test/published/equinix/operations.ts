/** What the description declares of one operation. */
export interface Operation {
  readonly statuses: readonly number[];
  /** Names of the query parameters, apart by spaces. */
  readonly query: string;
  /** The resource of a 2xx that is not empty. */
  readonly reply?: string;
  /** The input that the request has; one of several. */
  readonly body?: string;
}

/**
 * The declared operations that the emulator has, with placeholders below the base path. The parameters stand here as they
 * are written in a request: the description names some of them otherwise (`PerPage`, `DeviceSearch`).
 */
export const operations: Readonly<Record<string, Operation>> = {
  'DELETE /devices/{id}': { statuses: [204, 401, 403, 404, 422], query: 'force_delete' },
  'GET /devices/{id}': {
    statuses: [200, 401, 403, 404],
    query: 'include exclude',
    reply: 'Device',
  },
  'PUT /devices/{id}': {
    statuses: [200, 401, 403, 404, 422],
    query: 'include exclude',
    reply: 'Device',
    body: 'DeviceUpdateInput',
  },
  'POST /devices/{id}/actions': {
    statuses: [202, 401, 404, 422],
    query: '',
    body: 'DeviceActionInput',
  },
  'GET /devices/{id}/events': {
    statuses: [200, 401, 403, 404],
    query: 'include exclude page per_page',
    reply: 'EventList',
  },
  'GET /facilities': { statuses: [200, 401], query: 'include exclude', reply: 'FacilityList' },
  'GET /hardware-reservations/{id}': {
    statuses: [200, 401, 403, 404],
    query: 'include exclude',
    reply: 'HardwareReservation',
  },
  'POST /hardware-reservations/{id}/move': {
    statuses: [201, 401, 403, 404],
    query: 'include exclude',
    reply: 'HardwareReservation',
    body: 'HardwareReservationMoveInput',
  },
  'GET /operating-systems': { statuses: [200, 401], query: '', reply: 'OperatingSystemList' },
  'GET /plans': {
    statuses: [200, 401],
    query: 'categories[] type slug include exclude',
    reply: 'PlanList',
  },
  'GET /projects': {
    statuses: [200, 401],
    query: 'name include exclude page per_page',
    reply: 'ProjectList',
  },
  'POST /projects': {
    statuses: [201, 401, 422],
    query: 'include exclude',
    reply: 'Project',
    body: 'ProjectCreateFromRootInput',
  },
  'DELETE /projects/{id}': { statuses: [204, 401, 403, 404], query: '' },
  'GET /projects/{id}/devices': {
    statuses: [200, 401, 403, 404],
    query:
      'search categories facility metro hostname reserved tag type has_termination_time mac_address include exclude page per_page',
    reply: 'DeviceList',
  },
  'POST /projects/{id}/devices': {
    statuses: [201, 401, 403, 404, 422],
    query: 'include exclude',
    reply: 'Device',
    body: 'DeviceCreateInMetroInput | DeviceCreateInFacilityInput',
  },
  'GET /projects/{id}/hardware-reservations': {
    statuses: [200, 401, 403, 404],
    query: 'query state provisionable include exclude page per_page',
    reply: 'HardwareReservationList',
  },
  'GET /projects/{id}/plans': {
    statuses: [200, 401, 403, 404],
    query: 'include exclude',
    reply: 'PlanList',
  },
  'GET /projects/{id}/ssh-keys': {
    statuses: [200, 401],
    query: 'query include',
    reply: 'SSHKeyList',
  },
  'POST /projects/{id}/ssh-keys': {
    statuses: [201, 401, 422],
    query: 'include',
    reply: 'SSHKey',
    body: 'SSHKeyCreateInput',
  },
  'GET /ssh-keys': { statuses: [200, 401], query: 'search include', reply: 'SSHKeyList' },
  'POST /ssh-keys': {
    statuses: [201, 401, 422],
    query: 'include',
    reply: 'SSHKey',
    body: 'SSHKeyCreateInput',
  },
  'DELETE /ssh-keys/{id}': { statuses: [204, 401, 403, 404], query: '' },
  'GET /ssh-keys/{id}': { statuses: [200, 401, 403, 404], query: 'include', reply: 'SSHKey' },
  'PUT /ssh-keys/{id}': {
    statuses: [200, 401, 403, 404, 422],
    query: 'include',
    reply: 'SSHKey',
    body: 'SSHKeyInput',
  },
};
