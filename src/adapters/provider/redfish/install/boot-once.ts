import { ProviderError } from '../../../../domain/errors.ts';
import { clearOverride, patchBoot, pendingOf } from '../boot-override.ts';
import type { Wire } from '../client/bmc.ts';
import { unlessAbsent } from '../client/errors.ts';
import type { Json } from '../client/replies.ts';
import { type BootOverride, type System, systemOf } from '../client/system.ts';
import type { Leaving } from './media.ts';
import type { Method } from './settings.ts';

/** Shows a virtual CD as Cd although it lists UsbCd. */
const CD_BY_NAME = 'ARS-111GL-NHR';
const SUPERMICRO = /supermicro/i;
/** These want target, kind and mode in one request. */
const WHOLE = /supermicro|^ami\b|american megatrends|asrock|redfish_compatible/i;
/** Firmware of Dell's managers that boots a virtual CD when asked in the standard's way. */
const DELL = /dell/i;
const DELL_FIRMWARE = /^[67]\./;

/**
 * What the next boot of a system is to be asked for.
 * @throws {ProviderError} `not-implemented`: it cannot boot so.
 */
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
    const message = `a BMC of Dell with firmware ${firmware} boots no virtual CD when asked to`;
    throw new ProviderError('not-implemented', `${message}; use uefihttp or pxe`);
  }
}

/**
 * Has the next boot, and only that, be another one than the disk's.
 * @param uri of an HTTP boot.
 * @throws {ProviderError} `not-implemented`: the BMC accepted it and did not take it.
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
  const message = `a boot override to ${target} was accepted, and is ${shown}`;
  throw new ProviderError('not-implemented', message);
}

const UEFI = { BootSourceOverrideMode: 'UEFI' };

/** Some refuse what is so already. */
function changedIn(wanted: Readonly<Record<string, string>>, { boot }: System): Json {
  const is: Readonly<Record<string, string | null>> = {
    BootSourceOverrideTarget: boot.target,
    BootSourceOverrideEnabled: boot.enabled,
    HttpBootUri: boot.httpBootUri,
  };
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => is[name] !== value));
}

/** The next boot is that of the disk again, and no address of ours stays. */
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
