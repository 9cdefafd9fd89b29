import { isIP } from 'node:net';
import { z } from 'zod';
import { show } from '../../../settings/leaves.ts';
import {
  readEntries,
  repeated,
  entryText,
  HOST_FIELDS,
  hostFaults,
  hostOf,
  idField,
  LOCATION_FIELD,
  type HostEntry,
} from '../../driver-kit/inventory/entries.ts';
import { BMC_FIELDS, DISK_FIELD, bmcFaults, bmcPartOf, type BmcEntry } from '../redfish/entries.ts';
import type { ResetKind } from './resets/settings.ts';
import type { StaticOptions } from './static-provider.ts';

/** How the machine is reset by IPMI. */
export interface IpmiReset {
  readonly kind: 'ipmi';
  readonly host: string;
  readonly port: number;
  /** As `ipmitool mc guid` prints it, lower case; null: the BMC is not compared. */
  readonly guid: string | null;
}
/** How the operator's program resets the machine. */
export interface ProgramReset {
  readonly kind: 'program';
  /** Keys of the entry, which mean something to the program only. */
  readonly data: Readonly<Record<string, unknown>>;
}
interface RedfishReset {
  readonly kind: 'redfish';
  readonly bmc: ReturnType<typeof bmcPartOf>;
}

/** One machine of the inventory. */
export interface InventoryEntry extends HostEntry {
  readonly location: string | null;
  /** URL of its management controller; this driver never uses it. */
  readonly bmc: string | null;
  /** Serial number, WWN or kernel name of the disk to install; null: its only fixed disk. */
  readonly disk: string | null;
  /** Null: nobody but a person can reset it. */
  readonly reset: EntryReset | null;
}
/** `by`: the name of the means. */
type EntryReset = { readonly by: string } & (IpmiReset | RedfishReset | ProgramReset);

/** What entries may refer to. */
export interface KnownNames {
  readonly passwords: ReadonlySet<string>;
  /** Kinds of the means of reset, by name. */
  readonly resets: ReadonlyMap<string, ResetKind>;
}

const PORT = { error: 'is not a port; give one from 1 to 65535' };
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i;
const By = entryText('the name of a reset of this provider', () => true);

/** Keys of the object that a program gets, beside those of the entry. */
const OUR_KEYS = ['action', 'id', 'addr'];

const RESETS = {
  ipmi: z
    .strictObject({
      By,
      Addr: entryText(
        'an address or a host name',
        (text) => isIP(text) !== 0 || HOST_NAME.test(text),
      ),
      Port: z.int(PORT).min(1, PORT).max(65_535, PORT).optional(),
      Guid: entryText('a GUID as ipmitool mc guid prints it', (text) =>
        /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
      ).optional(),
    })
    .transform(({ Addr: host, Port: port = 623, Guid }): IpmiReset => ({
      ...{ kind: 'ipmi', host, port, guid: Guid?.toLowerCase() ?? null },
    })),
  redfish: z
    .strictObject({ By, ...BMC_FIELDS })
    .transform((told): RedfishReset => ({ kind: 'redfish', bmc: bmcPartOf(told) })),
  program: z
    .looseObject({ By })
    .superRefine((told, context) => {
      for (const key of OUR_KEYS.filter((each) => each in told)) {
        const message = `${show(key)} is a key of ours; rename it`;
        context.addIssue({ code: 'custom', path: [], message });
      }
    })
    .transform(({ By: _, ...data }): ProgramReset => ({ kind: 'program', data })),
} as const satisfies Record<ResetKind, z.ZodType>;

/** An entry's `Reset`: its keys depend on the means that it names. */
const resetField = (resets: KnownNames['resets']) =>
  z.looseObject({ By }, { error: 'is no object' }).transform((told, context): EntryReset => {
    const kind = resets.get(told.By);
    if (kind === undefined) {
      const known = [...resets.keys()].join(', ');
      const message = `is ${show(told.By)}; ${known ? `give one of ${known}` : 'this provider has no resets'}`;
      context.addIssue({ code: 'custom', path: ['By'], message });
      return z.NEVER;
    }
    const result = RESETS[kind].safeParse(told);
    if (result.success) return { by: told.By, ...result.data };
    for (const issue of result.error.issues) context.addIssue(issue as never);
    return z.NEVER;
  });

const entrySchema = (resets: KnownNames['resets']) =>
  z.strictObject(
    {
      ID: idField(128),
      ...HOST_FIELDS,
      Location: LOCATION_FIELD,
      Bmc: entryText('an https URL without credentials', (value) =>
        /^https?:\/\/[^\s@]+$/.test(value),
      ).optional(),
      Disk: DISK_FIELD.optional(),
      Reset: resetField(resets).optional(),
    },
    { error: 'is no object' },
  );

/**
 * Parses an inventory: a JSON array and nothing after it.
 * @throws {UsageError} names every faulty entry; the whole inventory is refused.
 */
export const parseInventory = (
  content: string,
  { passwords, resets }: KnownNames = { passwords: new Set(), resets: new Map() },
): readonly InventoryEntry[] =>
  readEntries(content, {
    schema: entrySchema(resets),
    toEntry: (told) => ({
      ...hostOf(told.ID, told),
      location: told.Location === '' ? null : told.Location,
      bmc: told.Bmc ?? null,
      disk: told.Disk ?? null,
      reset: told.Reset ?? null,
    }),
    faultsAmong: (entries) => [
      ...hostFaults(entries, passwords),
      ...repeated(entries, 'Reset Addr', ({ reset }) =>
        reset?.kind === 'ipmi' ? `${reset.host.toLowerCase()} ${reset.port}` : null,
      ),
      ...bmcFaults(entries.flatMap((entry) => bmcEntryOf(entry) ?? [])),
    ],
  });

/** Parses the inventory of a provider with these settings. */
export const parserFor =
  ({ sshPasswords, resets }: Pick<StaticOptions, 'sshPasswords' | 'resets'>) =>
  (content: string): readonly InventoryEntry[] =>
    parseInventory(content, {
      passwords: new Set(Object.keys(sshPasswords)),
      resets: new Map(Object.entries(resets).map(([name, { kind }]) => [name, kind])),
    });

/** The entry for the driver of Redfish BMCs; null: it has no such means. */
export const bmcEntryOf = ({
  reset,
  bmc: _,
  disk: _disk,
  ...host
}: InventoryEntry): BmcEntry | null =>
  reset?.kind === 'redfish'
    ? { ...host, ...reset.bmc, plan: 'static', credentials: reset.by, mac: null, disk: null }
    : null;
