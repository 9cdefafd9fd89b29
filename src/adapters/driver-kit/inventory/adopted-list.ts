import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Secret, Surroundings } from '../../../settings/secret.ts';
import type { SettingComplaint } from '../../provider/port.ts';
import {
  entryText,
  hostFaults,
  HOST_FIELDS,
  hostOf,
  idField,
  LOCATION_FIELD,
  readEntries,
  repeated,
  type HostEntry,
} from './entries.ts';
import {
  complaintsAboutInventory,
  inventoryLocation,
  inventorySettings,
  LETTING_GO,
} from './inventory.ts';

/** Lists of adopted servers, and the settings that name them. */

/** One server of the list. */
export interface AdoptedEntry extends HostEntry {
  /** The vendor's name of the server. */
  readonly server: string;
  /** An address that the vendor must report; null: the list names none. */
  readonly vendorAddress: string | null;
  readonly location: string | null;
}

/** How a vendor names its servers. */
export interface ServerNaming {
  /** What to give as `Server`. */
  readonly what: string;
  fits(server: string): boolean;
}

/** Settings of a driver that adopts. */
export const adoptionSettings = (around: Surroundings) => {
  const { sshPasswords } = inventorySettings(around);
  return {
    adopt: inventoryLocation(
      'Location of the list of servers in use to adopt: JSON.',
      around,
    ).optional(),
    sshUser: leaf.text('User on adopted servers whose entry names none.').prefault('root'),
    sshPasswords,
  };
};

const NEVER_REPLACED =
  'does not go with adopt: adopted servers are neither replaced nor given back; leave it out, or ' +
  'move it to a provider that only installs';

const keysOf = (section: unknown) => (section ?? {}) as Readonly<Record<string, unknown>>;

/** Whether a section, which may be faulty, adopts servers and has no key of installations. */
export function adoptsOnly(value: unknown, installation: readonly string[]): boolean {
  const given = keysOf(value);
  return given['adopt'] !== undefined && !installation.some((key) => given[key] !== undefined);
}

/**
 * Demands the keys of installations, unless the section only adopts servers.
 * @param needed the leaves of required keys. @param installation all keys of installations.
 */
export function installationNeeds<Schema extends z.ZodObject>(
  schema: Schema,
  needed: Readonly<Record<string, () => z.ZodType>>,
  installation: readonly string[],
): Schema {
  const complete = Object.entries(needed).reduce((checked, [key, leafOf]) => {
    const { issues } = leafOf().safeParse(undefined).error!;
    const error = issues[0]!.message;
    const isMet = (value: unknown) =>
      keysOf(value)[key] !== undefined || adoptsOnly(value, installation);
    return checked.refine(isMet, { when: () => true, path: [key], error });
  }, schema);
  return ['target', 'retired'].reduce(
    (checked, key) =>
      checked.refine(
        (value) =>
          keysOf(value)['adopt'] === undefined ||
          [undefined, 'keep'].includes(keysOf(value)[key] as undefined),
        { when: () => true, path: [key], error: NEVER_REPLACED },
      ),
    complete,
  );
}

const textOf = (what: string) =>
  entryText(what, (value) => /^[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}]{1,128}$/u.test(value)).optional();

/** What identifies and reaches a server; the vendor knows the rest. */
const Entry = z.strictObject(
  {
    ...HOST_FIELDS,
    ID: idField(128),
    Server: textOf('the number or ID of the server at its vendor, in quotes'),
    Addr: HOST_FIELDS.Addr.optional(),
    VendorAddr: HOST_FIELDS.Addr.optional(),
    // The server existed before us, so nothing else proves its key.
    HostKey: HOST_FIELDS.HostKey.unwrap(),
    Location: LOCATION_FIELD.optional(),
  },
  { error: 'is no object' },
);

/**
 * Parses a list of adopted servers.
 * @throws {UsageError} names every faulty entry; the whole list is refused.
 */
export const adoptedParser =
  (naming: ServerNaming, passwords: Readonly<Record<string, Secret>>) =>
  (content: string): readonly AdoptedEntry[] =>
    readEntries(content, {
      schema: Entry,
      toEntry: (told) => ({
        ...hostOf(told.ID, told),
        server: told.Server ?? told.ID,
        vendorAddress: told.VendorAddr ?? told.Addr ?? null,
        location: told.Location || null,
      }),
      faultsAmong: (entries) => [
        ...hostFaults(entries, new Set(Object.keys(passwords))),
        ...repeated(entries, 'Server', ({ server }) => server),
        ...entries
          .filter(({ server }) => !naming.fits(server))
          .map(({ id }) => `entry ${leaf.show(id)}: Server is missing; give ${naming.what}`),
        // Its slot or its machine may be that of the other server.
        ...entries
          .filter(({ id, server }) => id !== server && naming.fits(id))
          .map(({ id }) => `entry ${leaf.show(id)}: ID is the name of another server`),
      ],
    });

/** Faults for which a provider would refuse its list of adopted servers. */
export const complaintsAboutAdoption = async (
  own: {
    readonly adopt?: string | undefined;
    readonly sshPasswords: Readonly<Record<string, Secret>>;
  },
  naming: ServerNaming,
): Promise<readonly SettingComplaint[]> =>
  own.adopt === undefined
    ? []
    : complaintsAboutInventory(
        own.adopt,
        adoptedParser(naming, own.sshPasswords),
        'strict',
        'adopt',
      );

/** What happens to a machine that is given back. @param installed the same without adoption. */
export const givingBackWith =
  (installed: string, isInstalling: (settings: never) => boolean) =>
  (settings: { readonly adopt?: string | undefined }): string => {
    if (settings.adopt === undefined) return installed;
    return isInstalling(settings as never)
      ? `${installed}. Of an adopted server, ${LETTING_GO}`
      : LETTING_GO;
  };
