import { isProviderError, ProviderError } from '../../../domain/errors.ts';
import type { Wire } from './client/bmc.ts';
import { isNotNow, refusalIn } from './client/errors.ts';
import { patch } from './client/patch.ts';
import { isObject, type Json, etagOf } from './client/replies.ts';
import { bootOf, type BootOverride, type System, systemOf } from './client/system.ts';

/** All others lead elsewhere: vendors have names of their own, such as `CD/DVD` and `UefiUsbKey`. */
const HARMLESS = /^(None|Hdd|BiosSetup)$/i;

/** Whether the next boot would not be that of the disk: a reboot would become a reinstallation. */
export const leadsElsewhere = ({ enabled, target }: BootOverride): boolean =>
  enabled !== null && enabled !== 'Disabled' && target !== null && !HARMLESS.test(target);

/**
 * Changes boot settings where the BMC keeps them: at the system, or at its resource for settings. A BMC
 * that misses something is told target, kind and mode together.
 */
export async function patchBoot(wire: Wire, system: System, boot: Json): Promise<void> {
  const { target, enabled, mode } = system.boot;
  const whole = {
    BootSourceOverrideTarget: target ?? 'None',
    BootSourceOverrideEnabled: enabled ?? 'Disabled',
    BootSourceOverrideMode: mode ?? 'UEFI',
  };
  try {
    await patch(wire, await placeOf(wire, system), { Boot: boot });
  } catch (error) {
    const { status = 0, ids = [] } = refusalIn(error) ?? {};
    if (status !== 400 || !ids.includes('PropertyMissing')) throw error;
    await patch(wire, await placeOf(wire, system), { Boot: { ...whole, ...boot } });
  }
}

/** Where boot settings are changed, and what stands there for the next boot. */
interface Place extends Pick<System, 'path' | 'etag' | 'boot'> {}

const placeOf = async (wire: Wire, system: System): Promise<Place> =>
  (await pendingOf(wire, system)) ?? system;

/**
 * What a resource for settings says of the next boot, which the system itself may not show before;
 * null: there is none that holds boot settings.
 */
export async function pendingOf(wire: Wire, { settingsPath }: System): Promise<Place | null> {
  if (settingsPath === null) return null;
  try {
    const found = await wire.get(settingsPath);
    const { path, json = {} } = found;
    if (!isObject(json['Boot']) || !('BootSourceOverrideEnabled' in json['Boot'])) return null;
    return { path, etag: etagOf(found), boot: bootOf(json) };
  } catch (error) {
    if (isProviderError(error, 'not-implemented')) return null;
    throw error;
  }
}

/**
 * Clears a boot override that somebody left behind, at the system and among the settings for its next
 * boot, and reads the system again if there was one.
 * @param beforeSending awaited just before each change.
 * @throws {ProviderError} `conflict`: it stays, for one boot or for all, and that boot could erase the
 *   disk. `transient`: not now.
 */
export async function clearOverride(
  wire: Wire,
  system: System,
  beforeSending: () => Promise<void>,
): Promise<System> {
  const left = await leftIn(wire, system);
  if (left === null) return system;
  let now = system;
  let reason: unknown;
  for (const boot of waysToClear(left)) {
    await beforeSending();
    try {
      await changeEverywhere(wire, now, boot);
    } catch (error) {
      const refusal = refusalIn(error);
      const isRefused = refusal !== null && refusal.status !== 401 && !isNotNow(refusal);
      if (!isRefused || isProviderError(error, 'transient')) throw error;
      reason = error;
      if (refusal.status === 403) break;
    }
    now = systemOf(await wire.get(system.path));
    if ((await leftIn(wire, now)) === null) return now;
  }
  throw stays(left, reason);
}

/**
 * What is sent until the disk is what boots next. Some refuse `Disabled` without a target; sushy-tools
 * takes a target alone, for every boot, and knows no `None`.
 */
function waysToClear({ target, mode }: BootOverride): readonly Json[] {
  const whole = (to: string | null, enabled: string) => ({
    BootSourceOverrideTarget: to,
    BootSourceOverrideEnabled: enabled,
    ...(mode !== null && { BootSourceOverrideMode: mode }),
  });
  return [
    { BootSourceOverrideEnabled: 'Disabled' },
    whole(target, 'Disabled'),
    whole('None', 'Disabled'),
    whole('Hdd', 'Once'),
  ];
}

/** Where settings have a resource of their own, the system may go on with what it was told itself. */
async function changeEverywhere(wire: Wire, system: System, boot: Json): Promise<void> {
  await patch(wire, await placeOf(wire, system), { Boot: boot });
  if (system.settingsPath === null) return;
  const between = systemOf(await wire.get(system.path));
  if (leadsElsewhere(between.boot)) await patch(wire, between, { Boot: boot });
}

/** The override that the next boot would take; null: it is the disk's. */
async function leftIn(wire: Wire, system: System): Promise<BootOverride | null> {
  if (leadsElsewhere(system.boot)) return system.boot;
  const pending = await pendingOf(wire, system);
  return pending && leadsElsewhere(pending.boot) ? pending.boot : null;
}

/** One that is for a single boot does as much harm: that boot may be an installer's. */
const stays = ({ enabled, target }: BootOverride, cause?: unknown) =>
  new ProviderError(
    'conflict',
    `its boot override to ${target} (${enabled}) cannot be cleared, and a boot into it may erase the ` +
      'disk: no reset was sent; set it to Disabled at the BMC itself, or boot the machine there by hand',
    { cause },
  );
