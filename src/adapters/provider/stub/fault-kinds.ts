/**
 * When a fault is looked for. `call`: each call, by its operation and index. `device`: it sticks to
 * a device; the index is the device's, in the order they were made. `reservation`: to a piece of free
 * capacity. `connection`: each SSH connection to a machine; the index is that machine's.
 */
export type FaultPlace = 'call' | 'device' | 'reservation' | 'connection';

/** What can be asked of the stub, as faults, counts and logs name it. */
export const STUB_OPERATIONS = [
  'list',
  'get',
  'create',
  'find',
  'destroy',
  'reboot',
  'reinstall',
  'power',
  'tags',
  'verify',
  'reusable',
] as const;
export type StubOperation = (typeof STUB_OPERATIONS)[number];

export interface FaultSpec {
  readonly at: FaultPlace;
  /** The operations it can strike; absent: every one. */
  readonly operations?: readonly StubOperation[];
  /** What `amount` means, with its unit, and what it is when not given. */
  readonly amount?: readonly [usual: number, meaning: string];
  readonly meaning: string;
}

const spec = (
  at: FaultPlace,
  meaning: string,
  more: Pick<FaultSpec, 'operations' | 'amount'> = {},
): FaultSpec => ({ at, meaning, ...more });
const on = (...operations: readonly StubOperation[]) => ({ operations });

const MINUTE_MS = 60_000;

/** Any call, as a network and an API spoil it. */
const CALL_FAULTS = {
  'call-fails': spec('call', 'an error, and nothing was done'),
  'fails-after': spec('call', 'done, and answered with an error all the same'),
  'reply-lost': spec('call', 'done, and the answer never came'),
  hangs: spec('call', 'nothing is done and nothing answered until the call is aborted'),
  'hangs-after': spec('call', 'done, and nothing answered until the call is aborted'),
  slow: spec('call', 'takes longer', { amount: [30_000, 'ms'] }),
  held: spec('call', 'waits until it is released'),
  'html-body': spec('call', 'a page of HTML instead of an answer; nothing was done'),
  'truncated-body': spec('call', 'done, and the answer breaks off in the middle'),
  unauthorized: spec('call', 'refused with 401'),
  forbidden: spec('call', 'refused with 403'),
  conflict: spec('call', 'refused with 409'),
  'server-error': spec('call', 'answered with 503; nothing was done, but who knows'),
  'foreign-error': spec('call', 'throws what is no error of a provider, as a mistake would'),
  'rate-limit': spec('call', '429 with a retry time', { amount: [120_000, 'ms until retry'] }),
  'retry-time-missing': spec('call', '429 without a retry time'),
  'retry-time-past': spec('call', '429 with a retry time that has passed', {
    amount: [MINUTE_MS, 'ms ago'],
  }),
  'retry-time-malformed': spec('call', '429 with a retry time that is none'),
  'retry-time-far': spec('call', '429 with a retry time in the far future', {
    amount: [365 * 24 * 60 * MINUTE_MS, 'ms until retry'],
  }),
  'clock-skew': spec('call', 'its clock, by which it says when to retry, is wrong', {
    amount: [5 * MINUTE_MS, 'ms fast'],
  }),
} as const;

/** What the account may have, and how fast. */
const LIMIT_FAULTS = {
  'create-gap': spec('call', 'creations closer together than this are rate-limited', {
    ...on('create'),
    amount: [30_000, 'ms between creations'],
  }),
  'list-gap': spec('call', 'listings closer together than this are rate-limited', {
    ...on('list'),
    amount: [30_000, 'ms between listings'],
  }),
  quota: spec('call', 'creations beyond a number of devices fail by quota', {
    ...on('create'),
    amount: [0, 'devices'],
  }),
  'quota-changes': spec('call', 'from this creation on the most devices is another number', {
    ...on('create'),
    amount: [1, 'devices'],
  }),
  capacity: spec('call', 'none left of the plan, its group or at all, see `scope`', on('create')),
  'capacity-wrapped': spec('call', 'the same, buried in two other errors', on('create')),
  'capacity-changes': spec('call', 'from this creation on so much of it is left', {
    ...on('create'),
    amount: [0, 'free reservations'],
  }),
} as const;

const LISTING_FAULTS = {
  'list-lag': spec('call', 'shows what an earlier listing would have shown', {
    ...on('list'),
    amount: [3, 'listings ago'],
  }),
  'partial-page': spec('call', 'one page of three is missing, and it says so', {
    ...on('list'),
    amount: [2, 'page'],
  }),
  'page-fails': spec('call', 'one page of three fails, and the listing with it', on('list')),
  duplicates: spec('call', 'every entry comes twice', on('list')),
  reordering: spec('call', 'entries come in any order', on('list')),
  disappears: spec('call', 'one device is not shown', on('list')),
  'vanish-all': spec('call', 'shows nothing at all', on('list')),
  'foreign-machines': spec('call', 'shows devices of strangers too', {
    ...on('list'),
    amount: [2, 'devices'],
  }),
  'availability-undefined': spec('call', 'an entry does not say whether it is used', on('list')),
  'not-provisionable': spec('reservation', 'not offered, and refused if asked for'),
} as const;

/** A device from its creation to its end. */
const DEVICE_FAULTS = {
  'reused-id': spec('call', 'the new device gets the id of one that was', on('create')),
  'create-stuck': spec('call', 'never comes up', on('create')),
  'failed-at-create': spec('call', 'broken from the start', on('create')),
  'failed-at-boot': spec('call', 'breaks when it should come up', on('create', 'reinstall')),
  'failed-while-running': spec('device', 'breaks after a while', {
    amount: [MINUTE_MS, 'ms after it came up'],
  }),
  'id-absent': spec('device', 'a machine of a stateless provider is shown without its id'),
  'address-absent': spec('device', 'has no address', { amount: [Infinity, 'ms after it came up'] }),
  'address-changing': spec('device', 'gets another address again and again', {
    amount: [MINUTE_MS, 'ms between changes'],
  }),
  'address-duplicated': spec('device', 'is shown with the address of another one'),
  'address-v6-only': spec('device', 'has but an IPv6 address'),
  'tags-stale': spec('call', 'the next readings show the tags of before', {
    ...on('tags'),
    amount: [3, 'readings'],
  }),
  'tags-refused': spec('call', 'refused as invalid', on('tags')),
  'tags-truncated': spec('call', 'values are cut off', {
    ...on('create', 'tags', 'reinstall'),
    amount: [16, 'characters'],
  }),
  'tags-lower-cased': spec('call', 'keys and values are lower-cased', {
    ...on('create', 'tags', 'reinstall'),
  }),
  'reboot-ignored': spec('call', 'acknowledged, and nothing happens', on('reboot')),
  'reboot-loop': spec('call', 'boots again and again', {
    ...on('reboot'),
    amount: [MINUTE_MS, 'ms between boots'],
  }),
  'reinstall-stuck': spec('call', 'never gets further', {
    ...on('reinstall'),
    amount: [50, 'percent'],
  }),
  'power-lies': spec('device', 'shown as on when off, and as off when on'),
  'bmc-unreachable': spec('call', 'refused, as the board controller is silent', {
    ...on('power', 'reboot'),
  }),
  'destroy-listed': spec('call', 'acknowledged, and shown as before for a while', {
    ...on('destroy'),
    amount: [3, 'listings'],
  }),
  'wipe-failed': spec('call', 'ends as a broken device', on('destroy')),
  'get-not-found': spec('call', 'answered with 404, though it is there', on('get')),
  'destroy-not-found': spec('call', 'answered with 404, and nothing is done', on('destroy')),
} as const;

/** The machine itself, over SSH. */
const MACHINE_FAULTS = {
  'host-key-changed': spec('device', 'shows another host key', {
    amount: [0, 'ms after it came up'],
  }),
  'secret-missing': spec('device', 'does not have its instance secret'),
  'secret-wrong': spec('device', 'has another instance secret'),
  'auth-refused': spec('connection', 'lets nobody in'),
  'accept-then-hang': spec('connection', 'accepts the connection and says nothing'),
  'slow-bytes': spec('connection', 'sends its output byte by byte', {
    amount: [20, 'ms between bytes'],
  }),
  'drop-mid-command': spec('connection', 'breaks the connection in the middle of a command'),
  'output-flood': spec('connection', 'a command says far too much', {
    amount: [4 * 1024 * 1024, 'bytes'],
  }),
  'boot-time': spec('device', 'commands fail at first', { amount: [MINUTE_MS, 'ms'] }),
  'broken-time': spec('device', 'after a while nothing runs any more', {
    amount: [MINUTE_MS, 'ms after it came up'],
  }),
  'reports-broken': spec('device', 'after a while it says of itself that it is broken', {
    amount: [MINUTE_MS, 'ms after it came up'],
  }),
  'runner-missing': spec('device', 'has no job runner'),
  'runner-crashes': spec('device', 'the job runner dies as soon as it is started'),
  'slow-detach': spec('device', 'starting a job takes long', { amount: [10_000, 'ms'] }),
  'slow-run-lock': spec('device', 'a job that ended is listed as stale for a while', {
    amount: [10_000, 'ms'],
  }),
  'stuck-run-lock': spec('device', 'a job that ended is listed as stale for ever'),
} as const;

/** Every fault that the stub can inject. */
export const FAULTS = {
  ...CALL_FAULTS,
  ...LIMIT_FAULTS,
  ...LISTING_FAULTS,
  ...DEVICE_FAULTS,
  ...MACHINE_FAULTS,
} as const satisfies Readonly<Record<string, FaultSpec>>;
export type FaultKind = keyof typeof FAULTS;
/** Those that any call can meet at the door. */
export type CallFaultKind = keyof typeof CALL_FAULTS;

export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];
export const CALL_FAULT_KINDS = Object.keys(CALL_FAULTS) as readonly CallFaultKind[];
