import { lookup } from '../../../lib/data.ts';
import type { ProviderStatus } from '../../../domain/machine.ts';
import type { DriverMachine } from '../port.ts';

interface Standing {
  readonly status: ProviderStatus;
  readonly failed: boolean;
  readonly power: NonNullable<DriverMachine['power']>;
}

const standing = (
  status: ProviderStatus,
  power: Standing['power'] = 'unknown',
  failed = false,
): Standing => ({ status, power, failed });

const STANDINGS: Readonly<Record<string, Standing>> = {
  starting_deploy: standing('Provisioning'),
  deploying: standing('Provisioning'),
  disk_erasing: standing('Provisioning'),
  on: standing('Running', 'on'),
  ready: standing('Running', 'on'),
  off: standing('Stopped', 'off'),
  failed_deployment: standing('ProvisioningFailedPermanent', 'unknown', true),
  failed_disk_erasing: standing('ProvisioningFailedPermanent', 'unknown', true),
  rescue_mode: standing('Unknown', 'on'),
  unknown: standing('Unknown'),
};

/** Whether the vendor documents a state, or was seen to tell of it. */
export const isKnownState = (state: string): boolean => lookup(STANDINGS, state) !== undefined;

/**
 * What a server's state means for the fleet. `on` is power and never "installed": whether the system is
 * up is found out by others.
 * @param isNew an installation was asked for a moment ago: `on` may tell of the system before it, or of
 *   the installer.
 */
export function standingOf(state: string, isNew: boolean): Standing {
  const found = lookup(STANDINGS, state) ?? STANDINGS['unknown']!;
  return isNew && state === 'on' ? { ...found, status: 'Provisioning' } : found;
}

/** States that end by themselves, and in which no action is taken. */
const PASSING: ReadonlySet<string> = new Set(['starting_deploy', 'deploying', 'disk_erasing']);
export const isPassing = (state: string): boolean => PASSING.has(state);
