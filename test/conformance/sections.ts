import type { EquinixEmulator } from '../../emulators/equinix/options.ts';

/** The section of a provider at the emulator; its token is in `TOKEN`. */
export const equinixSection = ({ url, projectId }: EquinixEmulator) => ({
  ...{ driver: 'equinix', baseUrl: url, token: '${TOKEN}', username: 'test', projectId },
  ...{ devicePrefix: 'conformance-', sshKeyLabel: 'conformance', sshPortFromCustomdata: true },
  ...{ apiRate: '1ms', reservationCacheTimeout: '1s', probeGap: '200ms', settle: '2s' },
  callsPerSecond: 0,
});
