/**
 * Where replies and requests may differ from the description, each with its reason. The judge asks
 * for every one by name; whatever has no name here is a violation.
 */
export const allowances = {
  // The four in which real replies and real clients depart from the description.
  null: 'replies carry null where nothing is declared nullable, for example for a page that is not there',
  relativeHref: 'an href is a path below the base, or below its prefix, and no whole URL',
  patch: 'PATCH is taken beside PUT: clients send it',
  noLocation: 'a create on a hardware reservation names neither metro nor facility',

  // What the description leaves out of operations that it has.
  notJson: 'a body that is not JSON is answered 400 everywhere; nothing declares that',
  notTheUser: 'a token of one project is answered 403 for a key of the user',
  noSuchProject: 'the keys of a project that there is not, or of others, are answered 404',
  occupiedMove: 'a reservation in use cannot be moved: 422, which is declared for no move',
  keyOwner: 'an SSH key has its owner beside its entity: real clients read it',
  opened: 'include opens what is declared as a plain href',

  // What a test asks of the emulator.
  forcedState: 'a test puts a device into a state that the service does not know',

  // Operations that are not among the facts, or none at all.
  organizationReservations:
    'GET /organizations/{id}/hardware-reservations is undeclared, and clients use it',
  noSuchRoute: 'a path that there is not is answered 404, a wrong method 405',

  // What our client sends.
  sorted:
    'without sort_by pages of a list came in another order each time (seen in April 2023), so that ' +
    'devices were missed; the service obeys it although it does not declare it',
} as const;

export type Allowance = keyof typeof allowances;

/** Undeclared statuses, by allowance: the operations that may answer them. */
export const undeclaredStatuses: readonly {
  readonly allowance: Allowance;
  readonly status: number;
  readonly operations: RegExp;
}[] = [
  { allowance: 'notJson', status: 400, operations: /^(POST|PUT|DELETE) / },
  { allowance: 'notTheUser', status: 403, operations: /^POST \/ssh-keys$/ },
  {
    allowance: 'noSuchProject',
    status: 404,
    operations: /^(GET|POST) \/projects\/\{id\}\/ssh-keys$/,
  },
  {
    allowance: 'occupiedMove',
    status: 422,
    operations: /^POST \/hardware-reservations\/\{id\}\/move$/,
  },
];

/** Undeclared operations, with what is expected of them. */
export const undeclaredOperations = {
  'GET /organizations/{id}/hardware-reservations': {
    allowance: 'organizationReservations',
    statuses: [200, 401, 403, 404],
    query: 'query state provisionable include exclude page per_page',
    reply: 'HardwareReservationList',
  },
} as const;

/** Undeclared query parameters of our client. */
export const undeclaredQuery: readonly {
  readonly allowance: Allowance;
  readonly names: readonly string[];
  readonly operations: RegExp;
}[] = [
  {
    allowance: 'sorted',
    names: ['sort_by', 'sort_direction'],
    operations: /^GET \/(projects|organizations)\/\{id\}\/(devices|hardware-reservations)$/,
  },
];

/** Undeclared fields of replies, with their types. */
export const undeclaredFields: Readonly<Record<string, { allowance: Allowance; type: string }>> = {
  'SSHKey.owner': { allowance: 'keyOwner', type: 'Href' },
};

/** What `include` opens of fields that are declared as an href. */
export const openedBy: Readonly<Record<string, readonly string[]>> = {
  'Device.project_lite': ['Project'],
  'Device.ssh_keys': ['SSHKey'],
  'SSHKey.entity': ['Project'],
  'SSHKey.owner': ['Project'],
};

/** Relations that are an href until `include` names them; all others are open until excluded. */
export const linked: ReadonlySet<string> = new Set([
  'Device.facility',
  'Device.hardware_reservation',
  'Device.metro',
  'Device.project',
  'HardwareReservation.device',
  'HardwareReservation.facility',
  'HardwareReservation.project',
  'Project.organization',
]);
