/** What `shepherd sim --provider` can raise a fleet on: the drivers that have emulators. */
export const SIM_PROVIDERS = ['equinix', 'hetzner-robot', 'latitude', 'redfish'] as const;
export type SimProviderName = (typeof SIM_PROVIDERS)[number];
