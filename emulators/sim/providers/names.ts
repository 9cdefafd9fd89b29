/** Providers of `shepherd sim --provider`: the drivers with emulators. */
export const SIM_PROVIDERS = ['equinix', 'hetzner-robot', 'latitude', 'redfish'] as const;
export type SimProviderName = (typeof SIM_PROVIDERS)[number];
