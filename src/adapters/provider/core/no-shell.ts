import { ProviderError } from '../../../domain/errors.ts';
import type { DriverShell } from '../port.ts';

/** Where a driver is opened to be looked at, and not to work. */
export const NO_SHELL: DriverShell = {
  connect: () =>
    Promise.reject(new ProviderError('not-implemented', 'there is no SSH here for drivers')),
};
