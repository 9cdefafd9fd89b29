import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';

const fields = (around: Surroundings) =>
  z.strictObject({
    baseUrl: leaf
      .url('Where the Engine is, without a slash at the end.')
      .prefault('https://engine.anexia-it.com')
      .transform((text) => text.replace(/\/+$/, '')),
    token: leaf.secret('API token.', around).prefault('${ANEXIA_TOKEN}'),
    loadBalancer: leaf.text('Id of the load balancer whose objects these are.', {
      matches: /^[A-Za-z0-9_-]{1,64}$/,
      type: 'an id of letters, digits, hyphens and underscores',
    }),
    pageSize: leaf.count('Entries per page of a listing.', 1, 1000).prefault(100),
    allowInsecureHttp: leaf
      .flag('Allow an http:// address beyond loopback; the token travels in clear.')
      .prefault(false),
  });

/** The keys of a balancer whose driver is `anexia`, as they stand in the file. */
export const anexiaSchema = (around: Surroundings) =>
  fields(around).refine(isSecure, {
    when: () => true,
    path: ['baseUrl'],
    error: 'sends the token in clear; give an https URL, or set allowInsecureHttp: true',
  });

/** The keys of a balancer whose driver is `anexia`, as the program has them. */
export type AnexiaSettings = z.output<ReturnType<typeof anexiaSchema>>;

function isSecure(balancer: { baseUrl?: unknown; allowInsecureHttp?: unknown }): boolean {
  if (typeof balancer?.baseUrl !== 'string' || balancer.allowInsecureHttp === true) return true;
  return !/^http:/i.test(balancer.baseUrl) || baseUrlFault(balancer.baseUrl, false) === false;
}
