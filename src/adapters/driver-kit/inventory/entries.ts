import { isIP } from 'node:net';
import { z } from 'zod';
import { UsageError, ProviderError } from '../../../domain/errors.ts';
import { show } from '../../../settings/leaves.ts';

const FAULTS_SHOWN = 20;

/** Format of a list of machines. */
export interface ListForm<HostFields, Entry> {
  /** Schema of one entry. */
  readonly schema: z.ZodType<HostFields>;
  toEntry(told: HostFields): Entry;
  /** Faults between entries that are valid on their own. */
  faultsAmong(entries: readonly Entry[]): readonly string[];
}

/**
 * Parses an inventory: a JSON array and nothing after it.
 * @throws {UsageError} names every faulty entry; the whole inventory is refused.
 */
export function readEntries<HostFields, Entry>(
  content: string,
  { schema, toEntry, faultsAmong }: ListForm<HostFields, Entry>,
): readonly Entry[] {
  const list = z.array(z.unknown()).safeParse(parseJson(content));
  if (!list.success) throw new UsageError('the inventory is not a JSON array');
  const entries: Entry[] = [];
  const faults = list.data.flatMap((value, index) => {
    const result = schema.safeParse(value);
    if (result.success) entries.push(toEntry(result.data));
    return result.success ? [] : faultsOf(result.error, nameOf(value, index));
  });
  faults.push(...faultsAmong(entries));
  if (faults.length === 0) return entries;
  const shown = faults.slice(0, FAULTS_SHOWN);
  const more = faults.length > shown.length ? [`and ${faults.length - shown.length} more`] : [];
  throw new UsageError(`the inventory is refused: ${[...shown, ...more].join('; ')}`);
}

function parseJson(content: string): unknown {
  const value = asJson(content);
  const [key] = repeatedKeys(content);
  if (key === undefined) return value;
  throw new UsageError(`the inventory is refused: an object has the key ${show(key)} twice`);
}

function asJson(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch (cause) {
    throw new UsageError('the inventory is not JSON', { cause });
  }
}

const nameOf = (value: unknown, index: number): string => {
  const id = (value as { ID?: unknown } | null)?.ID;
  return `entry ${index + 1}${typeof id === 'string' ? ` (${show(id)})` : ''}`;
};

function faultsOf(error: z.ZodError, name: string): string[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${name}: ${[...issue.path, show(key)].join(' ')} is unknown`);
    }
    return `${name}: ${[...issue.path, issue.message].join(' ')}`;
  });
}

/** Values that several entries share; null: an entry has no such value. */
export function repeated<Entry extends { readonly id: string }>(
  entries: readonly Entry[],
  what: string,
  of: (entry: Entry) => string | null,
): string[] {
  const first = new Map<string, Entry>();
  return entries.flatMap((entry) => {
    const value = of(entry);
    if (value === null) return [];
    const other = first.get(value);
    if (!other) first.set(value, entry);
    return other
      ? [`entry ${show(entry.id)}: ${what} is the same as that of ${show(other.id)}`]
      : [];
  });
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}:]/g;

/**
 * Keys that appear twice in one object of a JSON text; `JSON.parse` silently keeps the last. Not
 * built on a parser: those that report duplicates are a hundred times slower, and a list may have
 * 10 MB.
 * @param json a text that `JSON.parse` accepts.
 */
function repeatedKeys(json: string): string[] {
  const repeated: string[] = [];
  const open: Set<string>[] = [];
  let last = '';
  for (const [token] of json.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (token === ':') {
      const key = JSON.parse(last) as string;
      if (open.at(-1)?.has(key)) repeated.push(key);
      open.at(-1)?.add(key);
    }
    last = token;
  }
  return repeated;
}

/** SSH fields of an inventory entry. */
export interface HostEntry {
  readonly id: string;
  /** IPv4 or IPv6; empty: the vendor reports it. */
  readonly address: string;
  readonly sshUser: string | null;
  readonly sshPort: number | null;
  /** Base64 of the wire form. */
  readonly hostKey: string | null;
  /** Name of the user's password; null: our keys are accepted. */
  readonly sshPassword: string | null;
}

/** A text of an entry; the error says what is expected. */
export const entryText = (what: string, fits: (value: string) => boolean) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined ? `is missing; give ${what}` : `is ${show(input)}; give ${what}`;
  return z.string({ error }).refine(fits, { error });
};

const NO_PASSWORD =
  'is not the name of a password; give one from sshPasswords of this provider, never a password itself';

const PORT = { error: 'is not a port; give one from 1 to 65535' };

/** SSH keys of an entry. */
export const HOST_FIELDS = {
  Addr: entryText('an IPv4 or IPv6 address', (value) => isIP(value) !== 0),
  SshUser: entryText('a user name', (value) => /^[a-z_][a-z0-9_.-]{0,31}$/i.test(value)).optional(),
  SshPort: z
    .int({ error: ({ input }) => `is ${show(input)}; give a port from 1 to 65535` })
    .min(1, PORT)
    .max(65_535, PORT)
    .optional(),
  HostKey: entryText(
    'an SSH host key such as ssh-ed25519 AAAA…',
    (value) => blobOf(value) !== null,
  ).optional(),
  // The value may be an actual password, so no message repeats it.
  SshPassword: z
    .string({ error: NO_PASSWORD })
    .regex(/^[a-z][a-z0-9-]{0,30}$/, { error: NO_PASSWORD })
    .optional(),
};

/** Location of a machine; empty: none. */
export const LOCATION_FIELD = entryText(
  'a text, which may be empty',
  (value) => value.length <= 128,
);

export function idField(lengthMax: number) {
  const printable = new RegExp(`^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}]{1,${lengthMax}}$`, 'u');
  return entryText(
    `1 to ${lengthMax} printable characters`,
    (value) => printable.test(value) && value !== 'invalid',
  );
}

type HostFields = Omit<z.output<z.ZodObject<typeof HOST_FIELDS>>, 'Addr'> & {
  readonly Addr?: string | undefined;
};

export const hostOf = (id: string, told: HostFields): HostEntry => ({
  id,
  address: told.Addr ?? '',
  sshUser: told.SshUser ?? null,
  sshPort: told.SshPort ?? null,
  hostKey: told.HostKey === undefined ? null : blobOf(told.HostKey),
  sshPassword: told.SshPassword ?? null,
});

/** @param passwords names that entries may refer to. */
export const hostFaults = (
  entries: readonly HostEntry[],
  passwords: ReadonlySet<string>,
): string[] => [
  ...entries.flatMap((entry) => passwordFaults(entry, passwords)),
  ...repeated(entries, 'ID', ({ id }) => id),
  ...repeated(entries, 'Addr', (entry) => (entry.address === '' ? null : peerOf(entry))),
];

/** A password is sent only to a machine with a known host key. */
function passwordFaults(
  { id, sshPassword, hostKey }: HostEntry,
  passwords: ReadonlySet<string>,
): string[] {
  if (sshPassword === null) return [];
  return [
    ...(passwords.has(sshPassword) ? [] : [`entry ${show(id)}: SshPassword ${NO_PASSWORD}`]),
    ...(hostKey === null
      ? [
          `entry ${show(id)}: SshPassword needs a HostKey; otherwise any machine that answers would get the password`,
        ]
      : []),
  ];
}

/** `host`, `host:port` or `[v6]:port`. */
export function targetOf({ address, sshPort }: Pick<HostEntry, 'address' | 'sshPort'>): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return sshPort === null ? host : `${host}:${sshPort}`;
}

/** SSH endpoint, the same for all spellings of an address, with or without the default port. */
const peerOf = ({ address, sshPort }: HostEntry): string =>
  `${canonical(address)} ${sshPort ?? SSH_PORT}`;

const SSH_PORT = 22;

function canonical(address: string): string {
  if (isIP(address) === 4) return address;
  const [host, zone = ''] = address.toLowerCase().split('%');
  const v6 = new URL(`http://[${host}]`).hostname;
  const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(v6) ?? [];
  if (high === undefined || low === undefined) return `${v6}%${zone}`;
  return [high, low]
    .map((half) => parseInt(half, 16))
    .flatMap((half) => [half >> 8, half & 255])
    .join('.');
}

/** The base64 part of `type base64 comment`; null if the line is no SSH key. */
function blobOf(line: string): string | null {
  const [type, encoded = ''] = line.trim().split(/\s+/);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null;
  const blob = Buffer.from(encoded, 'base64');
  const length = blob.length > 4 ? blob.readUInt32BE(0) : 0;
  return blob.toString('latin1', 4, 4 + length) === type ? blob.toString('base64') : null;
}

/**
 * Compares a host key with the inventory's.
 * @param provider name of the configured provider, for messages.
 * @throws {ProviderError} `not-implemented`: the entry has none. `conflict`: it has another.
 */
export function requireListedKey(provider: string, entry: HostEntry, key: Buffer): void {
  if (entry.hostKey === null) throw unknownKey(provider, entry);
  if (Buffer.from(entry.hostKey, 'base64').equals(key)) return;
  throw new ProviderError('conflict', `the inventory has another host key for ${entry.id}`);
}

/** `ssh-keyscan` asks whoever answers; only the console shows the right machine's key. */
const unknownKey = (provider: string, { id, address, sshPort }: HostEntry): ProviderError =>
  new ProviderError(
    'not-implemented',
    `the inventory has no key for ${id}: run "ssh-keyscan -p ${sshPort ?? 22} -t ed25519 ${address}", ` +
      'compare it with "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub" on the machine itself, and add ' +
      `"HostKey": "ssh-ed25519 AAAA…" to its entry; or set providers.${provider}.hostKeyPolicy: tofu`,
  );

/** Hostname for an id: lower case, letters, digits and hyphens, at most 63. */
export const hostnameOf = (id: string): string =>
  id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, '-')
    .slice(0, 63);
