import { isIP } from 'node:net';
import { z } from 'zod';
import { UsageError } from '../../../domain/errors.ts';
import { show } from '../../../settings/leaves.ts';
import { repeatedKeys } from './repeated-keys.ts';

/** One machine of the inventory. */
export interface InventoryEntry {
  readonly id: string;
  /** IPv4 or IPv6. */
  readonly address: string;
  readonly location: string | null;
  readonly sshUser: string | null;
  readonly sshPort: number | null;
  /** Base64 of the wire form. */
  readonly hostKey: string | null;
  /** Name of the password of its user; null: our keys let in. */
  readonly sshPassword: string | null;
  /** URL of its management controller; kept for what will speak with it. */
  readonly bmc: string | null;
}

const FAULTS_SHOWN = 20;

const text = (what: string, fits: (value: string) => boolean) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined ? `is missing; give ${what}` : `is ${show(input)}; give ${what}`;
  return z.string({ error }).refine(fits, { error });
};

const NO_PASSWORD =
  'is no name of a password; give one of sshPasswords of this provider, and never a password itself';

const Entry = z.strictObject(
  {
    ID: text('1 to 128 printable characters', isId),
    Addr: text('an IPv4 or IPv6 address', (value) => isIP(value) !== 0),
    Location: text('a text, which may be empty', (value) => value.length <= 128),
    SshUser: text('the name of a user', (value) =>
      /^[a-z_][a-z0-9_.-]{0,31}$/i.test(value),
    ).optional(),
    SshPort: z
      .int({ error: ({ input }) => `is ${show(input)}; give a port from 1 to 65535` })
      .min(1, 'is no port; give one from 1 to 65535')
      .max(65_535, 'is no port; give one from 1 to 65535')
      .optional(),
    HostKey: text(
      'an SSH host key such as ssh-ed25519 AAAA…',
      (value) => blobOf(value) !== null,
    ).optional(),
    // What stands there may be a password after all: no message repeats it.
    SshPassword: z
      .string({ error: NO_PASSWORD })
      .regex(/^[a-z][a-z0-9-]{0,30}$/, { error: NO_PASSWORD })
      .optional(),
    Bmc: text('an https URL without credentials', (value) =>
      /^https?:\/\/[^\s@]+$/.test(value),
    ).optional(),
  },
  { error: 'is no object' },
);

function isId(value: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u.test(value) && value !== 'invalid';
}

/**
 * Reads an inventory: a JSON array and nothing after it.
 * @param passwords the names that entries may refer to.
 * @throws {UsageError} naming every entry with a fault; the whole inventory is then refused.
 */
export function parseInventory(
  content: string,
  passwords: ReadonlySet<string> = new Set(),
): readonly InventoryEntry[] {
  const list = z.array(z.unknown()).safeParse(parseJson(content));
  if (!list.success) throw new UsageError('the inventory is no JSON array');
  const entries: InventoryEntry[] = [];
  const faults = list.data.flatMap((value, index) => {
    const result = Entry.safeParse(value);
    if (result.success) entries.push(toEntry(result.data));
    return result.success ? [] : faultsOf(result.error, nameOf(value, index));
  });
  faults.push(...entries.flatMap((entry) => passwordFaults(entry, passwords)));
  faults.push(...repeated(entries, 'ID', ({ id }) => id));
  faults.push(...repeated(entries, 'Addr', peerOf));
  if (faults.length === 0) return entries;
  const shown = faults.slice(0, FAULTS_SHOWN);
  const more = faults.length > shown.length ? [`and ${faults.length - shown.length} more`] : [];
  throw new UsageError(`the inventory is refused: ${[...shown, ...more].join('; ')}`);
}

/** A password is told to a machine that has shown its key, and to nobody else. */
function passwordFaults(
  { id, sshPassword, hostKey }: InventoryEntry,
  passwords: ReadonlySet<string>,
): string[] {
  if (sshPassword === null) return [];
  return [
    ...(passwords.has(sshPassword) ? [] : [`entry ${show(id)}: SshPassword ${NO_PASSWORD}`]),
    ...(hostKey === null
      ? [`entry ${show(id)}: SshPassword needs a HostKey, else it is told to whoever answers`]
      : []),
  ];
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
      return issue.keys.map((key) => `${name}: ${show(key)} is not known`);
    }
    return `${name}: ${[...issue.path, issue.message].join(' ')}`;
  });
}

/** What more than one entry has. */
function repeated(
  entries: readonly InventoryEntry[],
  what: string,
  of: (entry: InventoryEntry) => string,
): string[] {
  const first = new Map<string, InventoryEntry>();
  return entries.flatMap((entry) => {
    const other = first.get(of(entry));
    if (!other) first.set(of(entry), entry);
    return other ? [`entry ${show(entry.id)}: ${what} is that of ${show(other.id)} too`] : [];
  });
}

function toEntry(entry: z.output<typeof Entry>): InventoryEntry {
  return {
    id: entry.ID,
    address: entry.Addr,
    location: entry.Location === '' ? null : entry.Location,
    sshUser: entry.SshUser ?? null,
    sshPort: entry.SshPort ?? null,
    hostKey: entry.HostKey === undefined ? null : blobOf(entry.HostKey),
    sshPassword: entry.SshPassword ?? null,
    bmc: entry.Bmc ?? null,
  };
}

/** `host`, `host:port` or `[v6]:port`. */
export function targetOf({ address, sshPort }: InventoryEntry): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return sshPort === null ? host : `${host}:${sshPort}`;
}

/** Where SSH really goes: the same for all spellings of one address, with or without the usual port. */
const peerOf = ({ address, sshPort }: InventoryEntry): string =>
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

/** Of `type base64 comment`, the middle; null when that is no SSH key. */
function blobOf(line: string): string | null {
  const [type, encoded = ''] = line.trim().split(/\s+/);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null;
  const blob = Buffer.from(encoded, 'base64');
  const length = blob.length > 4 ? blob.readUInt32BE(0) : 0;
  return blob.toString('latin1', 4, 4 + length) === type ? blob.toString('base64') : null;
}
