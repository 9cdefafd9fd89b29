import { UsageError } from '../../../domain/errors.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';
import type { BalancerDriver } from '../port.ts';
import { createAnexiaBalancer } from './anexia-balancer.ts';
import { anexiaSchema, type AnexiaSettings } from './settings.ts';
import { createThrottles } from './throttle.ts';

/** Balancers of one account wait together when it was asked too much. */
const throttles = createThrottles();

/** A load balancer of the Anexia Engine. */
export const anexiaDriver: BalancerDriver<AnexiaSettings> = {
  name: 'anexia',
  settings: anexiaSchema,
  open(settings, context) {
    const { baseUrl, token, allowInsecureHttp } = settings;
    const fault = baseUrlFault(baseUrl, allowInsecureHttp);
    if (fault) throw new UsageError(`balancer ${context.name}: baseUrl ${fault}`);
    const throttle = throttles.of(baseUrl, token.reference, context.clock);
    return createAnexiaBalancer(settings, { context, throttle });
  },
  overlaps: (one, other) =>
    one.baseUrl === other.baseUrl && one.loadBalancer === other.loadBalancer
      ? 'loadBalancer'
      : null,
};
