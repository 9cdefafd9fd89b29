import { UsageError } from '../../../domain/errors.ts';
import type { Capabilities, Provider } from '../port.ts';

const FLAGS = [
  'create',
  'deprovision',
  'reboot',
  'reinstall',
  'power',
  'tags',
  'hostKey',
  'consistentList',
] as const satisfies readonly (keyof Capabilities)[];

/**
 * Looks at what a driver says of itself, before anything is asked of it.
 * @throws {UsageError} it contradicts itself.
 */
export function refuseContradictions(type: string, provider: Provider): void {
  const { capabilities } = provider;
  const faults = FLAGS.filter((flag) => typeof capabilities[flag] !== 'boolean').map(
    (flag) => `capabilities.${flag} is neither true nor false`,
  );
  const { maxConcurrency, power, resetController } = capabilities;
  if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1) {
    faults.push('capabilities.maxConcurrency is no whole number from 1');
  }
  if (resetController && !provider.resetController) {
    faults.push('capabilities.resetController is true without a resetController');
  }
  if (power && !provider.setPower) faults.push('capabilities.power is true without a setPower');
  if (faults.length > 0) throw new UsageError(`driver ${type}: ${faults.join('; ')}`);
}
