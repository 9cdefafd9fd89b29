import { equinixKind } from './equinix.ts';
import { hetznerRobotKind } from './hetzner-robot.ts';
import { latitudeKind } from './latitude.ts';
import type { SimProviderName } from './names.ts';
import type { SimKind } from './provider.ts';
import { redfishKind } from './redfish.ts';

export const SIM_KINDS: Readonly<Record<SimProviderName, SimKind>> = {
  equinix: equinixKind,
  'hetzner-robot': hetznerRobotKind,
  latitude: latitudeKind,
  redfish: redfishKind,
};
