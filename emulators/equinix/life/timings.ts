/** Durations in milliseconds, from the request that caused them. */
export interface EquinixTimings {
  readonly queuedMs: number;
  /** From the end of `queued`. */
  readonly provisioningMs: number;
  /** From the create. */
  readonly addressesMs: number;
  readonly deprovisioningMs: number;
  /** From the end of the deprovisioning until its reservation is provisionable again. */
  readonly cleaningMs: number;
  readonly poweringOffMs: number;
  readonly poweringOnMs: number;
  readonly rebootDownMs: number;
  /** From the request, not from the machine's shutdown. */
  readonly rebootUpMs: number;
  readonly reinstallMs: number;
}

/** The times observed at the real service. */
export const REAL_TIMINGS: EquinixTimings = {
  queuedMs: 5_000,
  provisioningMs: 240_000,
  addressesMs: 30_000,
  deprovisioningMs: 60_000,
  cleaningMs: 240_000,
  poweringOffMs: 10_000,
  poweringOnMs: 20_000,
  rebootDownMs: 10_000,
  rebootUpMs: 90_000,
  reinstallMs: 180_000,
};

/** The reported steps of an installation, each with its part of `provisioningMs`. */
export const PROVISIONING_STEPS: readonly {
  readonly code: string;
  readonly body: string;
  readonly at: number | 'addresses';
}[] = [
  { code: '101', body: 'Provisioning started', at: 0 },
  { code: '102', body: 'Network configured', at: 'addresses' },
  { code: '103', body: 'Configuration written', at: 85 / 240 },
  { code: '104', body: 'Device connected to DHCP system, installer reached', at: 115 / 240 },
  { code: '105', body: 'Server partitions created', at: 125 / 240 },
  { code: '106', body: 'Operating system packages installed', at: 135 / 240 },
  { code: '107', body: 'Network interfaces configured', at: 145 / 240 },
  { code: '108', body: 'Cloud-init packages installed and configured', at: 180 / 240 },
  { code: '109', body: 'Operating system installed', at: 210 / 240 },
  { code: '110', body: 'Provision complete! Your device is ready to go.', at: 1 },
];
