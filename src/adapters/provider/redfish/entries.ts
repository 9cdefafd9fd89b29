import { z } from 'zod';
import { explain, isProviderError } from '../../../domain/errors.ts';
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
import type { DriverContext } from '../port.ts';
import type { Bmc, Wire } from './client/bmc.ts';
import { bareOf, isOwnPath } from './client/errors.ts';
import { patch, readSystem, systemOf, type System } from './client/system.ts';
import type { Settings } from './settings.ts';

/** One machine behind a BMC. */
export interface BmcEntry extends HostEntry {
  readonly location: string | null;
  readonly plan: string;
  /** `https://host[:port]`. */
  readonly bmc: string;
  /** Path of its system; null: the BMC's only one. */
  readonly system: string | null;
  /** Name of the login. */
  readonly credentials: string;
  /** 64 hex digits, lower case; null: the certificate must be trusted in another way. */
  readonly certSha256: string | null;
  readonly serial: string | null;
  /** Lower case. */
  readonly uuid: string | null;
  /** MAC address of the network card that boots; lower case. */
  readonly mac: string | null;
  /** Serial number, WWN or kernel name of the disk to install; null: its only fixed disk. */
  readonly disk: string | null;
}

/** Leaves room for the suffix of an installed machine's id. */
const ID_LENGTH_MAX = 119;
const isPlaceholder = (value: string) => /fixme/i.test(value);

/** A text that is no placeholder. */
const field = (what: string, fits: (value: string) => boolean) =>
  entryText(what, (value) => !isPlaceholder(value) && fits(value));
const matches = (pattern: RegExp) => (value: string) => pattern.test(value);

export const DISK_FIELD = field(
  'the serial number, WWN or name of a disk',
  matches(/^[\x21-\x7e][\x20-\x7e]{0,127}$/),
);

/** Where a machine's BMC is, and what identifies the machine there. */
export const BMC_FIELDS = {
  Bmc: field('https://host or https://host:port, without path and credentials', isBmc),
  System: field(
    'the path of a system, such as /redfish/v1/Systems/1',
    (value) => isOwnPath(value) && value.length <= 256,
  ).optional(),
  CertSha256: field(
    'the SHA-256 of the certificate, 64 hex digits',
    matches(/^[0-9a-f]{64}$/i),
  ).optional(),
  Serial: field('a serial number', matches(/^[\x20-\x7e]{1,128}$/)).optional(),
  Uuid: field('a UUID', matches(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i)).optional(),
};

const Entry = z.strictObject(
  {
    ID: idField(ID_LENGTH_MAX).refine((value) => !isPlaceholder(value), {
      error: ({ input }) => `is ${show(input)}; replace the placeholder with an id`,
    }),
    ...HOST_FIELDS,
    ...BMC_FIELDS,
    Credentials: field(
      'the name of a login in credentials of this provider',
      matches(/^[a-z][a-z0-9-]{0,30}$/),
    ).optional(),
    Mac: field(
      'a hardware address such as 02:00:00:00:00:01',
      matches(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i),
    ).optional(),
    Disk: DISK_FIELD.optional(),
    Plan: field('the name of a class of hardware', matches(/^[\x21-\x7e]{1,64}$/)).optional(),
    Location: LOCATION_FIELD.optional(),
  },
  { error: 'is no object' },
);
type RackEntry = z.output<typeof Entry>;

function isBmc(value: string): boolean {
  const url = URL.parse(value);
  return /^https:\/\/[^\s/?#@\\]+$/i.test(value) && url !== null && url.port !== '0';
}

export interface KnownNames {
  /** Names that entries may refer to. */
  readonly credentials: ReadonlySet<string>;
  readonly passwords: ReadonlySet<string>;
  /** For installations: whether the MAC address of the booting network card is required. */
  readonly install?: { readonly needsMac: boolean } | undefined;
}

/**
 * Parses an inventory: a JSON array and nothing after it.
 * @throws {UsageError} names every faulty entry; the whole inventory is refused.
 */
export const parseInventory = (content: string, named: KnownNames): readonly BmcEntry[] =>
  readEntries(content, {
    schema: Entry,
    toEntry,
    faultsAmong: (entries) => [
      ...hostFaults(entries, named.passwords),
      ...entries
        .filter(({ credentials }) => !named.credentials.has(credentials))
        .map(({ id, credentials }) => `entry ${show(id)}: ${unknownLogin(credentials)}`),
      ...bmcFaults(entries),
      ...(named.install ? installFaults(entries, named.install.needsMac) : []),
    ],
  });

/** Parses the inventory of a provider with these settings. */
export const parserFor =
  ({ credentials, sshPasswords, install }: Settings) =>
  (content: string): readonly BmcEntry[] =>
    parseInventory(content, {
      credentials: new Set(Object.keys(credentials)),
      passwords: new Set(Object.keys(sshPasswords)),
      install: install && { needsMac: install.method !== 'vmedia' },
    });

const unknownLogin = (name: string) =>
  `Credentials ${show(name)} is not in credentials of this provider`;

/** An address alone is not enough to erase a machine. */
const installFaults = (entries: readonly BmcEntry[], needsMac: boolean): string[] => [
  ...entries
    .filter(({ serial, uuid }) => serial === null && uuid === null)
    .map(
      ({ id }) => `entry ${show(id)}: Serial or Uuid is missing; installations need one of them`,
    ),
  ...entries
    .filter(({ mac }) => needsMac && mac === null)
    .map(({ id }) => `entry ${show(id)}: Mac is missing; network boot needs it`),
];

/** Entries must agree about their BMC; if it has several systems, each must name one. */
export function bmcFaults(entries: readonly BmcEntry[]): string[] {
  const first = new Map<string, BmcEntry>();
  const shared = repeated(entries, 'Bmc with System', ({ bmc, system }) =>
    system === null ? null : `${bmc} ${bareOf(system)}`,
  );
  const differing = entries.flatMap((entry) => {
    const other = first.get(entry.bmc);
    if (!other) first.set(entry.bmc, entry);
    if (!other) return [];
    const [own, others] = [show(entry.id), show(other.id)];
    const differs = (name: string) =>
      `entry ${own}: ${name} of its Bmc differs from that of ${others}`;
    return [
      ...(other.system === null || entry.system === null
        ? [`entry ${own}: Bmc is also that of ${others}; give each its System`]
        : []),
      ...(other.credentials === entry.credentials ? [] : [differs('Credentials')]),
      ...(other.certSha256 === entry.certSha256 ? [] : [differs('CertSha256')]),
    ];
  });
  return [...shared, ...differing];
}

export const bmcPartOf = (told: z.output<z.ZodObject<typeof BMC_FIELDS>>) => ({
  bmc: new URL(told.Bmc).origin,
  system: told.System ?? null,
  certSha256: told.CertSha256?.toLowerCase() ?? null,
  serial: told.Serial?.trim() ?? null,
  uuid: told.Uuid?.toLowerCase() ?? null,
});

function toEntry(told: RackEntry): BmcEntry {
  return {
    ...hostOf(told.ID, told),
    location: told.Location === '' ? null : (told.Location ?? null),
    plan: told.Plan ?? 'redfish',
    ...bmcPartOf(told),
    credentials: told.Credentials ?? 'default',
    mac: told.Mac?.toLowerCase() ?? null,
    disk: told.Disk ?? null,
  };
}

const MARK = /^shep:([a-z0-9]{5}-[a-z0-9]{5}-[a-z0-9]{15})$/i;

/** Marks a system for other fleets: 32 characters with the set id. */
export const markOf = (instanceSetId: string): string => `shep:${instanceSetId}`;

/** Set id of a complete mark; null if there is none, or only a part of one. */
export const setIdIn = (assetTag: string | null): string | null =>
  MARK.exec(assetTag ?? '')?.[1] ?? null;

/** A label against a second fleet on the same rack; never the record of what is ours. */
export function createOwnerMark(
  where: 'none' | 'assetTag',
  { log, instanceSetId }: Pick<DriverContext, 'log' | 'instanceSetId'>,
) {
  const mark = markOf(instanceSetId);
  /** Ids of machines that continue without a mark. */
  const without = new Set<string>();
  function goWithout({ id }: BmcEntry, why: string) {
    without.add(id);
    log.warn({ machine: id, why }, 'a machine does not carry our mark');
  }
  return {
    /** Puts the mark on a system with an empty asset tag, and verifies it. */
    async put(wire: Wire, entry: BmcEntry, system: System): Promise<void> {
      const { assetTag, path } = system;
      if (where === 'none' || assetTag === mark || without.has(entry.id)) return;
      if (setIdIn(assetTag) !== null) return goWithout(entry, 'it carries the mark of another set');
      if (assetTag !== null) return goWithout(entry, 'its asset tag says something else');
      try {
        await patch(wire, system, { AssetTag: mark });
      } catch (error) {
        if (!isProviderError(error) || error.kind === 'transient') throw error;
        return goWithout(entry, explain(error));
      }
      const now = systemOf(await wire.get(path));
      if (now.assetTag !== mark) goWithout(entry, 'its BMC did not store it');
      return undefined;
    },
  };
}
/**
 * Removes our mark from a system.
 * @param check awaited just before; if it rejects, the mark stays.
 */
export type TakeMarkOff = (
  entry: BmcEntry,
  signal: AbortSignal,
  check?: () => Promise<void>,
) => Promise<void>;

export const markRemover =
  (
    bmcOf: (entry: BmcEntry) => Bmc,
    { clock, instanceSetId }: Pick<DriverContext, 'clock' | 'instanceSetId'>,
  ): TakeMarkOff =>
  async (entry, signal, check) => {
    const bmc = bmcOf(entry);
    await bmc.inTurn({ signal }, async (wire) => {
      const system = await readSystem(bmc, wire, entry.system, clock.monotonic());
      if (system.assetTag !== markOf(instanceSetId)) return;
      await check?.();
      await patch(wire, system, { AssetTag: '' });
    });
  };
