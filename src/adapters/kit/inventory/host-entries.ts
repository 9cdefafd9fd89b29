import { isIP } from 'node:net';
import { z } from 'zod';
import { show } from '../../../settings/leaves.ts';
import { repeated } from './entry-list.ts';

/** What an inventory says of a machine's SSH, whatever else it says. */
export interface HostEntry {
  readonly id: string;
  /** IPv4 or IPv6. */
  readonly address: string;
  readonly sshUser: string | null;
  readonly sshPort: number | null;
  /** Base64 of the wire form. */
  readonly hostKey: string | null;
  /** Name of the password of its user; null: our keys let in. */
  readonly sshPassword: string | null;
}

/** A text of an entry; says what is expected when there is none, or it does not fit. */
export const entryText = (what: string, fits: (value: string) => boolean) => {
  const error = ({ input }: { readonly input?: unknown }) =>
    input === undefined ? `is missing; give ${what}` : `is ${show(input)}; give ${what}`;
  return z.string({ error }).refine(fits, { error });
};

const NO_PASSWORD =
  'is no name of a password; give one of sshPasswords of this provider, and never a password itself';

const PORT = { error: 'is no port; give one from 1 to 65535' };

/** The keys of an entry that are about SSH. */
export const HOST_FIELDS = {
  Addr: entryText('an IPv4 or IPv6 address', (value) => isIP(value) !== 0),
  SshUser: entryText('the name of a user', (value) =>
    /^[a-z_][a-z0-9_.-]{0,31}$/i.test(value),
  ).optional(),
  SshPort: z
    .int({ error: ({ input }) => `is ${show(input)}; give a port from 1 to 65535` })
    .min(1, PORT)
    .max(65_535, PORT)
    .optional(),
  HostKey: entryText(
    'an SSH host key such as ssh-ed25519 AAAA…',
    (value) => blobOf(value) !== null,
  ).optional(),
  // What stands there may be a password after all: no message repeats it.
  SshPassword: z
    .string({ error: NO_PASSWORD })
    .regex(/^[a-z][a-z0-9-]{0,30}$/, { error: NO_PASSWORD })
    .optional(),
};

/** Where a machine stands; the empty text is nowhere. */
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

type Told = z.output<z.ZodObject<typeof HOST_FIELDS>>;

export const hostOf = (id: string, told: Told): HostEntry => ({
  id,
  address: told.Addr,
  sshUser: told.SshUser ?? null,
  sshPort: told.SshPort ?? null,
  hostKey: told.HostKey === undefined ? null : blobOf(told.HostKey),
  sshPassword: told.SshPassword ?? null,
});

/** @param passwords the names that entries may refer to. */
export const hostFaults = (
  entries: readonly HostEntry[],
  passwords: ReadonlySet<string>,
): string[] => [
  ...entries.flatMap((entry) => passwordFaults(entry, passwords)),
  ...repeated(entries, 'ID', ({ id }) => id),
  ...repeated(entries, 'Addr', peerOf),
];

/** A password is told to a machine that has shown its key, and to nobody else. */
function passwordFaults(
  { id, sshPassword, hostKey }: HostEntry,
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

/** `host`, `host:port` or `[v6]:port`. */
export function targetOf({ address, sshPort }: Pick<HostEntry, 'address' | 'sshPort'>): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return sshPort === null ? host : `${host}:${sshPort}`;
}

/** Where SSH really goes: the same for all spellings of one address, with or without the usual port. */
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

/** Of `type base64 comment`, the middle; null when that is no SSH key. */
function blobOf(line: string): string | null {
  const [type, encoded = ''] = line.trim().split(/\s+/);
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) return null;
  const blob = Buffer.from(encoded, 'base64');
  const length = blob.length > 4 ? blob.readUInt32BE(0) : 0;
  return blob.toString('latin1', 4, 4 + length) === type ? blob.toString('base64') : null;
}
