/**
 * The fields of the documented replies, written from the vendor's description of its web service: by
 * name, with what each may hold. `?` behind a name: it may lack. A reply has these fields and no
 * others; `|` stands between what is possible.
 */
export type Fields = Readonly<Record<string, string>>;

const PLACE: Fields = {
  server_ip: 'text|null',
  server_ipv6_net: 'text|null',
  server_number: 'number',
};

const SERVER: Fields = {
  ...PLACE,
  server_name: 'text',
  product: 'text',
  dc: 'text',
  traffic: 'text',
  status: 'text',
  cancelled: 'boolean',
  paid_until: 'date',
  ip: 'texts|null',
  subnet: 'subnets|null',
  'linked_storagebox?': 'number|null',
};

const FLAGS: Fields = Object.fromEntries(
  ['reset', 'rescue', 'vnc', 'windows', 'plesk', 'cpanel', 'wol', 'hot_swap'].map((name) => [
    name,
    'boolean',
  ]),
);

const ACTIVE: Fields = {
  active: 'boolean',
  password: 'text|null',
  authorized_key: 'keys',
  host_key: 'hostKeys',
  'boot_time?': 'text|null',
};

export const FIELDS = {
  listedServer: SERVER,
  server: { ...SERVER, ...FLAGS },
  listedReset: { ...PLACE, type: 'texts' },
  reset: { ...PLACE, type: 'texts', operating_status: 'text' },
  resetDone: { ...PLACE, type: 'text' },
  rescueInactive: { ...PLACE, ...ACTIVE, os: 'texts', arch: 'numbers' },
  rescueActive: { ...PLACE, ...ACTIVE, os: 'text', arch: 'number' },
  linuxInactive: { ...PLACE, ...ACTIVE, dist: 'texts', lang: 'texts', arch: 'numbers' },
  key: {
    name: 'text',
    fingerprint: 'fingerprint',
    type: 'text',
    size: 'number',
    data: 'text',
    created_at: 'text',
  },
  error: { status: 'number', code: 'text', message: 'text' },
  invalidInput: {
    status: 'number',
    code: 'text',
    message: 'text',
    missing: 'texts|null',
    invalid: 'texts|null',
  },
  rateLimit: {
    status: 'number',
    code: 'text',
    message: 'text',
    'max_request?': 'number',
    'max_requests?': 'number',
    interval: 'number',
  },
} satisfies Readonly<Record<string, Fields>>;

const isText = (value: unknown): value is string => typeof value === 'string';
const isList = (of: (one: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(of);
const isObjectOf = (fields: Fields) => (value: unknown) => faultsOf(value, fields).length === 0;
const FINGERPRINT = /^([0-9a-f]{2}:){15}[0-9a-f]{2}$/;
const isFingerprint = (value: unknown) => isText(value) && FINGERPRINT.test(value);

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  text: isText,
  texts: isList(isText),
  number: (value) => typeof value === 'number',
  numbers: isList((one) => typeof one === 'number'),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  date: (value) => isText(value) && /^\d{4}-\d\d-\d\d$/.test(value),
  fingerprint: isFingerprint,
  subnets: isList(isObjectOf({ ip: 'text', mask: 'text' })),
  keys: isList((one) =>
    isObjectOf({ name: 'text', fingerprint: 'fingerprint', type: 'text', size: 'number' })(
      (one as { key?: unknown }).key,
    ),
  ),
  hostKeys: isList(
    (one) =>
      isFingerprint(one) ||
      isObjectOf({ fingerprint: 'fingerprint', type: 'text', size: 'number' })(
        (one as { key?: unknown }).key,
      ),
  ),
};

/** What of an object is not as the table has it; empty: nothing. */
export function faultsOf(value: unknown, fields: Fields): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return ['no object'];
  const known = new Map(
    Object.entries(fields).map(([name, kind]) => [name.replace('?', ''), kind]),
  );
  const missing = Object.keys(fields).filter((name) => !name.endsWith('?') && !(name in value));
  const wrong = Object.entries(value).flatMap(([name, held]) => {
    const kinds = known.get(name);
    if (kinds === undefined) return [`${name} is not described`];
    const fits = kinds.split('|').some((kind) => KINDS[kind]!(held));
    return fits ? [] : [`${name} is ${JSON.stringify(held)}, and not ${kinds}`];
  });
  return [...missing.map((name) => `${name} is missing`), ...wrong];
}
