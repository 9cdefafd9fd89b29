import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { sleep, type Clock } from '../../../clock/port.ts';
import type { CallOptions } from '../../port.ts';
import { clearOverride, patchBoot, pendingOf } from '../changes.ts';
import type { Bmc, Wire } from '../client/bmc.ts';
import {
  refusalIn,
  unlessAbsent,
  linkOf,
  linksOf,
  requireOwnPath,
  etagOf,
  isObject,
  type RedfishRefusal,
  type BmcJson,
  type Reply,
} from '../client/errors.ts';
import { followTask } from '../client/session.ts';
import { patch, systemOf, type System, type BootOverride } from '../client/system.ts';
import type { Method } from '../settings.ts';

/** A virtual drive of a BMC. */
export interface Device {
  readonly path: string;
  readonly etag: string | null;
  readonly types: readonly string[];
  readonly image: string | null;
  readonly isInserted: boolean;
  /** Targets of its actions; null: it has none, and is changed by PATCH. */
  readonly insert: string | null;
  readonly eject: string | null;
}

export interface MediaScene {
  readonly bmc: Bmc;
  readonly system: System;
  readonly call: Pick<CallOptions, 'signal' | 'deadline'>;
  readonly clock: Clock;
}

/** Parameters that InsertMedia may require, and their values. */
const EXTRAS: Readonly<Record<string, (image: string) => unknown>> = {
  TransferProtocolType: (image) => (image.startsWith('https:') ? 'HTTPS' : 'HTTP'),
  TransferMethod: () => 'Stream',
  Inserted: () => true,
  WriteProtected: () => true,
  UserName: () => 'none',
  Password: () => 'none',
};
const ATTEMPTS = 5;
const LOOKS = 3;
const LOOK_MS = 2_000;

/**
 * Inserts an image into a virtual CD drive, after emptying it: some BMCs show an image that is
 * gone.
 * @throws {ProviderError} `not-implemented`: no drive accepts it. `transient`: none shows it.
 */
export async function insertImage(scene: MediaScene, image: string): Promise<void> {
  const devices = await discsOf(scene);
  if (devices.length === 0) {
    throw new ProviderError('not-implemented', `${scene.bmc.url} has no virtual CD drive`);
  }
  for (const device of devices) if (isLoaded(device)) await eject(scene, device);
  let reason: unknown = null;
  for (const device of devices) {
    try {
      await insertInto(scene, device, image);
    } catch (error) {
      if (!isUnfit(error)) throw error;
      reason = error;
      continue;
    }
    if (await shows(scene, device)) return;
    reason = new ProviderError(
      'transient',
      `${device.path} accepted the image, but does not show it`,
    );
  }
  throw reason;
}

/** What to remove. */
export interface Leaving {
  readonly isOurs: (address: string) => boolean;
  /** Awaited just before each change. */
  readonly check: () => Promise<void>;
}

/** Ejects every image that `isOurs` accepts. */
export async function ejectImages(scene: MediaScene, { isOurs, check }: Leaving): Promise<void> {
  for (const device of await discsOf(scene)) {
    if (device.image === null || !isOurs(device.image)) continue;
    await check();
    await eject(scene, device);
  }
}

const turn = <T>({ bmc, call }: MediaScene, work: (wire: Wire) => Promise<T>): Promise<T> =>
  bmc.inTurn({ signal: call.signal, urgent: true }, work);

const isLoaded = ({ isInserted, image }: Device): boolean => isInserted || image !== null;

/** CD drives of the system, or otherwise of its managers; if there are none, DVD drives. */
async function discsOf(scene: MediaScene): Promise<readonly Device[]> {
  const devices = await turn(scene, async (wire) => {
    const found: Device[] = [];
    for (const path of await placesOf(wire, scene.system)) {
      const media = await unlessAbsent(wire.get(path));
      for (const member of linksOf(media?.json?.['Members'])) {
        const device = await unlessAbsent(wire.get(member));
        if (device) found.push(deviceOf(device));
      }
    }
    return found;
  });
  const holding = (type: string) => devices.filter(({ types }) => types.includes(type));
  const discs = holding('CD');
  return discs.length > 0 ? discs : holding('DVD');
}

async function placesOf(wire: Wire, { json, managers }: System): Promise<readonly string[]> {
  const own = linkOf(json['VirtualMedia']);
  if (own !== null) return [own];
  const places: string[] = [];
  for (const manager of managers) {
    const path = linkOf((await unlessAbsent(wire.get(manager)))?.json?.['VirtualMedia']);
    if (path !== null) places.push(path);
  }
  return places;
}

function deviceOf(reply: Reply): Device {
  const { json = {}, path } = reply;
  const actions = isObject(json['Actions']) ? json['Actions'] : {};
  const targetOf = (name: string): string | null => {
    const action = actions[`#VirtualMedia.${name}`];
    const target = isObject(action) ? action['target'] : undefined;
    return typeof target === 'string' ? requireOwnPath(target) : null;
  };
  const { MediaTypes: types, Image: image } = json;
  return {
    path,
    etag: etagOf(reply),
    types: Array.isArray(types) ? types.filter((type) => typeof type === 'string') : [],
    image: typeof image === 'string' && image !== '' ? image : null,
    isInserted: json['Inserted'] === true,
    insert: targetOf('InsertMedia'),
    eject: targetOf('EjectMedia'),
  };
}

async function insertInto(scene: MediaScene, device: Device, image: string): Promise<void> {
  if (device.insert === null) {
    const body = { Image: image, Inserted: true, WriteProtected: true };
    return change(scene, (wire) => patch(wire, device, body));
  }
  let body: BmcJson = { Image: image };
  for (let attempt = 1; ; attempt++) {
    try {
      return await change(scene, (wire) => wire.send('POST', device.insert!, body));
    } catch (error) {
      const refusal = refusalIn(error);
      const asked = refusal?.status === 400 ? askedIn(refusal, body, image) : {};
      if (Object.keys(asked).length === 0 || attempt === ATTEMPTS) throw error;
      body = { ...body, ...asked };
    }
  }
}

/** Only the parameters that a refusal reports as missing. */
const askedIn = ({ ids, message }: RedfishRefusal, body: BmcJson, image: string): BmcJson =>
  ids.some((id) => id.endsWith('Missing'))
    ? Object.fromEntries(
        Object.entries(EXTRAS)
          .filter(([name]) => !(name in body) && new RegExp(`\\b${name}\\b`).test(message))
          .map(([name, value]) => [name, value(image)]),
      )
    : {};

/** Another drive may accept it. */
function isUnfit(error: unknown): boolean {
  const status = refusalIn(error)?.status ?? 0;
  return isProviderError(error) && [400, 404, 405, 409, 422, 501].includes(status);
}

async function shows(scene: MediaScene, { path }: Device): Promise<boolean> {
  for (let look = 1; ; look++) {
    const now = deviceOf(await turn(scene, (wire) => wire.get(path)));
    if (now.isInserted) return true;
    if (look === LOOKS) return false;
    await sleep(scene.clock, LOOK_MS, scene.call.signal);
  }
}

/** Tries without a body, then with an empty one; or the image is already gone. */
async function eject(scene: MediaScene, device: Device): Promise<void> {
  const { eject: target, path } = device;
  try {
    if (target === null) {
      const body = { Image: null, Inserted: false };
      return await change(scene, (wire) => patch(wire, device, body));
    }
    return await change(scene, (wire) => wire.send('POST', target)).catch((error: unknown) => {
      if (![400, 415].includes(refusalIn(error)?.status ?? 0)) throw error;
      return change(scene, (wire) => wire.send('POST', target, {}));
    });
  } catch (error) {
    if (refusalIn(error) === null) throw error;
    const now = deviceOf(await turn(scene, (wire) => wire.get(path)));
    if (now.isInserted) throw error;
  }
}

async function change(scene: MediaScene, ask: (wire: Wire) => Promise<Reply>): Promise<void> {
  const { bmc, call, clock } = scene;
  const reply = await turn(scene, ask);
  await followTask(bmc, reply, call, clock);
}

/** Shows a virtual CD as Cd although it lists UsbCd. */
const CD_BY_NAME = 'ARS-111GL-NHR';
const SUPERMICRO = /supermicro/i;
/** These require target, kind and mode in one request. */
const WHOLE = /supermicro|^ami\b|american megatrends|asrock|redfish_compatible/i;
/** Firmware of Dell's managers that boots a virtual CD by the standard's request. */
const DELL = /dell/i;
const DELL_FIRMWARE = /^[67]\./;

/** Boot target for a system. @throws {ProviderError} `not-implemented`: it cannot boot this way. */
export async function targetFor(wire: Wire, system: System, method: Method): Promise<string> {
  const { manufacturer, model, boot } = system;
  if (method === 'vmedia' && DELL.test(manufacturer ?? '')) await requireDellFirmware(wire, system);
  const isUsb =
    SUPERMICRO.test(manufacturer ?? '') && model !== CD_BY_NAME && boot.targets?.includes('UsbCd');
  const disc = isUsb === true ? 'UsbCd' : 'Cd';
  const target = { vmedia: disc, uefihttp: 'UefiHttp', pxe: 'Pxe' }[method];
  if (boot.targets === null || boot.targets.includes(target)) return target;
  const can = boot.targets.join(', ');
  throw new ProviderError('not-implemented', `the system cannot boot ${target}; it can ${can}`);
}

async function requireDellFirmware(wire: Wire, { managers }: System): Promise<void> {
  for (const manager of managers) {
    const { FirmwareVersion: firmware } = (await unlessAbsent(wire.get(manager)))?.json ?? {};
    if (typeof firmware !== 'string' || DELL_FIRMWARE.test(firmware)) continue;
    const message = `a Dell BMC with firmware ${firmware} does not boot a virtual CD on request`;
    throw new ProviderError('not-implemented', `${message}; use uefihttp or pxe`);
  }
}

/**
 * Overrides only the next boot.
 * @param uri for an HTTP boot.
 * @throws {ProviderError} `not-implemented`: the BMC accepted the change without applying it.
 */
export async function bootOnce(
  wire: Wire,
  system: System,
  { target, uri }: { readonly target: string; readonly uri: string | null },
): Promise<System> {
  const wanted = {
    BootSourceOverrideTarget: target,
    BootSourceOverrideEnabled: 'Once',
    ...(uri !== null && { HttpBootUri: uri }),
  };
  const isWhole = WHOLE.test(system.manufacturer ?? '');
  const mode = isWhole || (uri !== null && system.boot.mode !== 'UEFI') ? UEFI : {};
  const body = { ...(isWhole ? wanted : changedIn(wanted, system)), ...mode };
  if (Object.keys(body).length > 0) await patchBoot(wire, system, body);
  const now = systemOf(await wire.get(system.path));
  const isTaken = (boot: BootOverride) => boot.enabled === 'Once' && boot.target === target;
  if (isTaken(now.boot)) return now;
  const pending = await pendingOf(wire, now);
  if (pending && isTaken(pending.boot)) return now;
  const shown = `${now.boot.enabled} ${now.boot.target}`;
  const message = `a boot override to ${target} was accepted, but is ${shown}`;
  throw new ProviderError('not-implemented', message);
}

const UEFI = { BootSourceOverrideMode: 'UEFI' };

/** Some BMCs refuse values that are already set. */
function changedIn(wanted: Readonly<Record<string, string>>, { boot }: System): BmcJson {
  const is: Readonly<Record<string, string | null>> = {
    BootSourceOverrideTarget: boot.target,
    BootSourceOverrideEnabled: boot.enabled,
    HttpBootUri: boot.httpBootUri,
  };
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => is[name] !== value));
}

/** Sets the next boot to the disk again, and removes our URLs. */
export async function bootDisk(
  wire: Wire,
  system: System,
  { isOurs, check }: Leaving,
): Promise<void> {
  const now = await clearOverride(wire, system, check);
  const pending = await pendingOf(wire, now);
  const boots = pending ? [now.boot, pending.boot] : [now.boot];
  if (!boots.some(({ httpBootUri: uri }) => uri !== null && isOurs(uri))) return;
  await check();
  await patchBoot(wire, now, { HttpBootUri: null });
}
