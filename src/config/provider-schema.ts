import { z } from 'zod';
import { isUuid } from '../domain/ids.ts';
import * as leaf from './leaves.ts';
import type { Surroundings } from './secret.ts';

/** First 18 characters of the reservation's UUID follow the prefix; a host name has at most 63. */
const PREFIX_MAX = 63 - 18;

/** Keys of a provider whose driver is `equinix`; their meaning is in `docs/configuration.md`. */
export const equinixSchema = (around: Surroundings) =>
  z
    .strictObject({
      driver: leaf.choice(['equinix'], 'Which API the provider speaks.'),
      baseUrl: leaf
        .url('Where the API is, without a slash at the end.')
        .prefault('https://api.equinix.com/metal/v1')
        .transform((text) => text.replace(/\/+$/, '')),
      token: leaf.secret('API key.', around),
      username: leaf.text('User of the API key, for the log.'),
      projectId: projectId(),
      instanceSetId: instanceSetId(),
      devicePrefix: devicePrefix(),
      sshKeyLabel: leaf.text('Label of our SSH key at the provider; belongs to this set alone.'),
      os: leaf.text('Operating system a new machine gets.').prefault('ubuntu_20_04'),
      parallelism: leaf.count('API calls in flight at once.', 1, 64).prefault(3),
      apiRate: leaf.duration('Least time between the starts of two calls.', 0).prefault('2s'),
      reservationCacheTimeout: leaf
        .duration('How long a listing of reservations is believed.', 0)
        .prefault('15m'),
      probeGap: leaf
        .duration('Wait between two looks for a device whose creation went unanswered.')
        .prefault('10s'),
      settle: leaf.duration('How long such a device may take to show up.').prefault('2m'),
      sshPortFromCustomdata: leaf
        .flag('Take the SSH port from the device’s custom data; for simulated machines.')
        .prefault(false),
      allowInsecureHttp: leaf
        .flag('Allow an http:// address beyond loopback; the token travels in clear.')
        .prefault(false),
    })
    .refine(isSecure, {
      when: () => true,
      path: ['baseUrl'],
      error: 'sends the token in clear; give an https URL, or set allowInsecureHttp: true',
    });

function isSecure(provider: { baseUrl?: unknown; allowInsecureHttp?: unknown }): boolean {
  if (typeof provider?.baseUrl !== 'string' || provider.allowInsecureHttp === true) return true;
  return !/^http:\/\/(?!(127(\.\d+){3}|localhost|\[::1\])([:/]|$))/.test(provider.baseUrl);
}

const projectId = () =>
  leaf.text('Project whose reservations are used.').refine(isUuid, {
    error: 'is not a UUID; give the id of the project, in lower case',
  });

const instanceSetId = () =>
  leaf.text('Marks every device of ours: never shared, never changed while machines exist.', {
    matches: /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i,
    type: 'an id of 5-5-15 letters and digits, such as zzzzz-zzzzz-zzzzzzzzzzzzzzz',
  });

const devicePrefix = () =>
  leaf
    .text('Start of the host name of every device of ours.', {
      matches: /^[a-z0-9][a-z0-9-]*-$/,
      type: 'a prefix of lower-case letters, digits and hyphens that ends in a hyphen',
    })
    .refine((prefix) => !prefix.startsWith('deleted-'), {
      error: 'starts with deleted-, which names devices that are going away; give another prefix',
    })
    .refine((prefix) => prefix.length <= PREFIX_MAX, {
      error: `is too long for a host name; give at most ${PREFIX_MAX} characters`,
    });

/** One configured provider. */
export const providerSchema = (around: Surroundings) =>
  z.discriminatedUnion('driver', [equinixSchema(around)], {
    error: () => 'names no driver that exists; give driver: equinix',
  });

/** All providers, by name. Two of them must never claim the same devices. */
export const providersSchema = (around: Surroundings) =>
  z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,30}$/, {
        error: 'is no name for a provider; give a-z first, then a-z, 0-9 or -, at most 31 in all',
      }),
      providerSchema(around),
      { error: 'is missing; give at least one provider by its name' },
    )
    .superRefine((providers, context) => {
      if (Object.keys(providers).length === 0) {
        context.addIssue({ code: 'custom', message: 'is empty; give at least one provider' });
      }
      for (const [name, other] of overlaps(providers)) {
        const message = `covers devices of provider ${other} too; give it a prefix of its own`;
        context.addIssue({ code: 'custom', path: [name, 'devicePrefix'], message });
      }
    });

type Claim = { readonly projectId: string; readonly devicePrefix: string };

/** Pairs of providers in one project where a device name of one can be a device name of the other. */
function overlaps(providers: Readonly<Record<string, Claim>>): [string, string][] {
  const entries = Object.entries(providers);
  return entries.flatMap(([name, one], index) =>
    entries
      .slice(0, index)
      .filter(([, other]) => one.projectId === other.projectId && nested(one, other))
      .map(([other]): [string, string] => [name, other]),
  );
}

const nested = (one: Claim, other: Claim): boolean =>
  one.devicePrefix.startsWith(other.devicePrefix) ||
  other.devicePrefix.startsWith(one.devicePrefix);
