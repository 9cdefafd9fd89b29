import { z } from 'zod';
import { ProviderError } from '../../../../domain/errors.ts';
import type { Bmc, Wire } from './bmc.ts';
import {
  unlessAbsent,
  isObject,
  refusalIn,
  isAbsent,
  bareOf,
  linkOf,
  linksOf,
  requireOwnPath,
  etagOf,
  type BmcJson,
  type Reply,
} from './errors.ts';

/** Used if the BMC lists no allowed values. */
const USUAL = ['On', 'ForceOff', 'ForceRestart', 'GracefulShutdown'];

/** Reset types that the action accepts, without those that turned out not to work. */
export async function allowedResets(
  { cannot, remembered }: Pick<Bmc, 'cannot' | 'remembered'>,
  wire: Wire,
  { target, allowed, actionInfo }: ResetAction,
): Promise<readonly string[]> {
  const told = allowed ?? (actionInfo === null ? null : await toldIn(actionInfo));
  return (told ?? USUAL).filter((type) => !cannot.has(resetKey(target, type)));

  async function toldIn(path: string): Promise<readonly string[] | null> {
    const key = `resets of ${path}`;
    const known = remembered.get(key) as readonly string[] | undefined;
    if (known) return known;
    const info = await unlessAbsent(wire.get(path));
    const found = valuesIn(info?.json?.['Parameters']);
    if (found) remembered.set(key, found);
    return found;
  }
}

/** Name of a reset type in `Bmc.cannot`. */
export const resetKey = (target: string, type: string): string => `${type} at ${target}`;

function valuesIn(parameters: unknown): readonly string[] | null {
  const all = Array.isArray(parameters) ? (parameters as unknown[]) : [];
  const parameter = all.find((one) => isObject(one) && one['Name'] === 'ResetType');
  const values = isObject(parameter) ? parameter['AllowableValues'] : undefined;
  if (!Array.isArray(values)) return null;
  const texts = (values as unknown[]).filter((value) => typeof value === 'string');
  return texts.length === 0 ? null : texts;
}

/**
 * Changes a resource, with its ETag. If a fresh weak ETag is refused, it is sent once as a strong
 * one, and then not at all.
 * @throws {ProviderError}
 */
export async function patch(
  wire: Wire,
  { path, etag }: { readonly path: string; readonly etag: string | null },
  body: BmcJson,
): Promise<Reply> {
  const strong = etag?.startsWith('W/') ? etag.slice('W/'.length) : null;
  for (const match of [etag, strong].filter((tag) => tag !== null)) {
    try {
      return await wire.send('PATCH', path, body, { 'If-Match': match });
    } catch (error) {
      if (refusalIn(error)?.status !== 412) throw error;
    }
  }
  return wire.send('PATCH', path, body, {});
}

export interface ResetAction {
  readonly target: string;
  /** Null if not given here. */
  readonly allowed: readonly string[] | null;
  readonly actionInfo: string | null;
}

const text = z.string().trim().nullish().catch(null);
const texts = z.array(z.string()).nullish().catch(null);
const time = z
  .string()
  .transform((value) => Date.parse(value))
  .refine((ms) => Number.isFinite(ms))
  .nullish()
  .catch(null);

const ALLOWED = 'ResetType@Redfish.AllowableValues';
const TARGETS = 'BootSourceOverrideTarget@Redfish.AllowableValues';

/** Fields of a wrong type count as missing. */
const Shown = z.object({
  Id: z.string().min(1),
  SerialNumber: text,
  SKU: text,
  UUID: text,
  Manufacturer: text,
  Model: text,
  AssetTag: text,
  PowerState: text,
  Status: z.object({ Health: text, HealthRollup: text }).nullish().catch(null),
  LastResetTime: time,
  BootProgress: z.object({ LastState: text, LastStateTime: time }).nullish().catch(null),
});

const ShownBoot = z
  .object({
    BootSourceOverrideEnabled: text,
    BootSourceOverrideTarget: text,
    BootSourceOverrideMode: text,
    HttpBootUri: text,
    [TARGETS]: texts,
  })
  .nullish()
  .catch(null);

/** Boot override of a resource. */
export function bootOf({ Boot: shown }: BmcJson) {
  const boot = ShownBoot.parse(shown);
  return {
    /** `Disabled`, `Once` or `Continuous`. */
    enabled: orNull(boot?.BootSourceOverrideEnabled),
    target: orNull(boot?.BootSourceOverrideTarget),
    mode: orNull(boot?.BootSourceOverrideMode),
    httpBootUri: orNull(boot?.HttpBootUri),
    /** Null: the available targets are not given. */
    targets: boot?.[TARGETS] ?? null,
  };
}
export type BootOverride = ReturnType<typeof bootOf>;

/** @throws {ProviderError} `permanent`: it does not have the form of a system. */
export function systemOf(reply: Reply) {
  const { json = {}, headers, path } = reply;
  const shown = Shown.safeParse(json);
  if (!shown.success) throw new ProviderError('permanent', `${path} is not a system: it has no Id`);
  const { data } = shown;
  const { BootProgress: progress } = data;
  const links = isObject(json['Links']) ? json['Links'] : {};
  const settings = isObject(json['@Redfish.Settings']) ? json['@Redfish.Settings'] : {};
  const readAtMs = Date.parse(headers.date ?? '');
  return {
    /** Where it was read, and is written. */
    path,
    etag: etagOf(reply),
    id: data.Id,
    serial: orNull(data.SerialNumber),
    /** Service tag on a Dell; on others a product number, which is the same for a whole model. */
    sku: orNull(data.SKU),
    uuid: orNull(data.UUID),
    manufacturer: orNull(data.Manufacturer),
    model: orNull(data.Model),
    assetTag: orNull(data.AssetTag),
    /** Whether the resource has the field at all. */
    hasAssetTag: 'AssetTag' in json,
    /** The BMC's own value: `On`, `Off`, `PoweringOn`, `PoweringOff`, `Paused` or another. */
    power: orNull(data.PowerState),
    /** Of the system with all its parts: `OK`, `Warning`, `Critical` or another value. */
    health: orNull(data.Status?.HealthRollup) ?? orNull(data.Status?.Health),
    /** Last reset, and the boot's progress with its time: epoch ms of the BMC's clock. */
    lastResetMs: data.LastResetTime ?? null,
    progress: progress?.LastState
      ? { state: progress.LastState, sinceMs: progress.LastStateTime ?? null }
      : null,
    boot: bootOf(json),
    reset: resetOf(json['Actions']),
    managers: linksOf(links['ManagedBy']),
    /** Resource for changes that do not apply at once; null if there is none. */
    settingsPath: linkOf(settings['SettingsObject']),
    /** Time of the read, by the BMC's clock. */
    readAtMs: Number.isNaN(readAtMs) ? null : readAtMs,
    /** The complete resource. */
    json,
  };
}
/** A ComputerSystem as its BMC showed it; missing values are null. */
export type System = ReturnType<typeof systemOf>;

const orNull = (value: string | null | undefined): string | null =>
  value === undefined || value === null || value === '' ? null : value;

/** The action with this name below `Actions`; null if there is none. */
export function resetOf(actions: unknown, name = '#ComputerSystem.Reset'): ResetAction | null {
  const action = isObject(actions) ? actions[name] : undefined;
  if (!isObject(action) || typeof action['target'] !== 'string') return null;
  const info = action['@Redfish.ActionInfo'];
  const allowed = texts.parse(action[ALLOWED]);
  return {
    target: requireOwnPath(action['target']),
    allowed: allowed && allowed.length > 0 ? allowed : null,
    actionInfo: typeof info === 'string' ? requireOwnPath(info) : null,
  };
}

const LOOKS = 3;
const LOOKS_OVER_MS = 120_000;

/**
 * Reads an entry's system.
 * @param named its path in the inventory; null: the BMC's only system.
 * @throws {ProviderError} `invalid`: there are several and none is named. `not-found`: three reads
 *   over two minutes did not find it, while the root answers and the collection does not list it
 *   either. Before that `transient`, because a starting BMC has a root before it has systems.
 */
export async function readSystem(
  bmc: Bmc,
  wire: Wire,
  named: string | null,
  nowMs: number,
): Promise<System> {
  const key = `absence of ${named === null ? '' : bareOf(named)}`;
  let cause: unknown;
  try {
    const path = named ?? (await onlySystem(bmc, wire));
    if (path !== null) {
      const found = systemOf(await wire.get(path));
      bmc.sightings.delete(key);
      return found;
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
    cause = error;
  }
  bmc.remembered.delete(ONLY);
  await wire.root(true);
  const { looks, sinceMs } = bmc.sightings.get(key) ?? { looks: 0, sinceMs: nowMs };
  bmc.sightings.set(key, { looks: looks + 1, sinceMs });
  const isBelieved = looks + 1 >= LOOKS && nowMs - sinceMs >= LOOKS_OVER_MS;
  if (!isBelieved || (await isListed(wire, named))) {
    throw new ProviderError('transient', `${bmc.url} does not show the system at present`, {
      cause,
    });
  }
  throw new ProviderError('not-found', `${bmc.url} no longer has the system`, { cause });
}

const ONLY = 'the only system';

/** A missing collection proves nothing. */
async function isListed(wire: Wire, named: string | null): Promise<boolean> {
  const paths = await unlessAbsent(systemPaths(wire));
  if (paths === null) return true;
  if (named === null) return paths.length > 0;
  const plain = (path: string) => bareOf(path).toLowerCase();
  return paths.some((path) => plain(path) === plain(named));
}

/** Null if there is none. */
async function onlySystem({ url, remembered }: Bmc, wire: Wire): Promise<string | null> {
  const known = remembered.get(ONLY);
  if (typeof known === 'string') return known;
  const [path, ...others] = await systemPaths(wire);
  if (others.length > 0) {
    const message = `${url} has ${others.length + 1} systems; give the entry one of them as System`;
    throw new ProviderError('invalid', message);
  }
  if (path !== undefined) remembered.set(ONLY, path);
  return path ?? null;
}

/** Paths of all systems of a BMC. */
export async function systemPaths(wire: Wire): Promise<readonly string[]> {
  const path = linkOf((await wire.root())['Systems']);
  if (path === null) throw new ProviderError('permanent', 'the BMC lists no systems');
  return linksOf((await wire.get(path)).json?.['Members']);
}
