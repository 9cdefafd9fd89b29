import { createHash } from 'node:crypto';
import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { ApiTimings } from '../../driver-kit/terms.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';

/** A place for a machine in the configuration. */
export interface Place {
  /** `<plan>/<SITE>/<k>`, k from 1; the slot's name. */
  readonly slot: string;
  /** Constant hostname of the machine on the place. */
  readonly hostname: string;
  readonly plan: string;
  readonly site: string;
}

const NAME_CHARACTERS = 8;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Places of a configuration, in its order. */
export const placesOf = (slots: Slots, namePrefix: string): Place[] =>
  slots.flatMap(({ plan, site, count }) =>
    Array.from({ length: count }, (_, at) => {
      const slot = `${plan}/${site}/${at + 1}`;
      return { slot, plan, site, hostname: hostnameOf(slot, namePrefix) };
    }),
  );

/**
 * Hostname of the machine on a slot: the prefix, the site, and 40 bits of the slot's hash. So the
 * name does not reveal the plan, and fits into the vendor's 32 characters.
 */
export function hostnameOf(slot: string, namePrefix: string): string {
  const [, site = ''] = slot.split('/');
  const hash = createHash('sha256').update(slot, 'utf8').digest();
  return `${namePrefix}${site.toLowerCase()}-${base32(hash).slice(0, NAME_CHARACTERS)}`;
}

/** RFC 4648, lower case, without padding. */
function base32(bytes: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += ALPHABET[(held >>> (bits - 5)) & 31];
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31];
}

/** The vendor may change the case of a name. */
export const sameName = (one: string | undefined, other: string): boolean =>
  one?.toLowerCase() === other.toLowerCase();

const PREFIX_MAX = 15;
const SITE_MAX = 5;

const fields = (around: Surroundings) =>
  z.strictObject({
    baseUrl: leaf
      .url('Where the API is, without a slash at the end.')
      .prefault('https://api.latitude.sh')
      .transform((text) => text.replace(/\/+$/, '')),
    token: leaf.secret('API key; one of this set alone, in a project of its own.', around),
    project: leaf.text('Project whose machines these are, by its id.', {
      matches: /^proj_[A-Za-z0-9]+$/,
      type: 'the id of a project, proj_…, and not its slug, which changes',
    }),
    slots: slots(),
    namePrefix: leaf
      .text('Start of the host name of every machine; belongs to this set alone in the project.', {
        matches: /^[a-z0-9][a-z0-9-]*-$/,
        type: 'a prefix of lower-case letters, digits and hyphens that ends in a hyphen',
      })
      .refine((prefix) => prefix.length <= PREFIX_MAX, {
        error: `is too long for a host name; give at most ${PREFIX_MAX} characters`,
      }),
    os: leaf
      .text('Operating system a new machine gets, by its slug.', {
        matches: /^[A-Za-z0-9][\w.-]*$/,
        type: 'the slug of an operating system',
      })
      .prefault('ubuntu_24_04_x64_lts'),
    billing: leaf
      .choice(
        ['hourly', 'monthly', 'yearly'],
        'How new machines are paid for: hourly or monthly (in advance) in an on-demand project, yearly in a reserved one.',
      )
      .prefault('hourly'),
    raid: leaf.choice(['raid-0', 'raid-1'], 'RAID of the disks of new machines.').optional(),
    sshKeyName: leaf.text('Name of our SSH key in the project.'),
    onDeprovision: leaf
      .choice(
        ['delete', 'schedule'],
        'What becomes of a machine that is given back: deleted at once, or switched off and deleted at the end of its billing cycle.',
      )
      .prefault('delete'),
    readsPerMinute: leaf
      .count('Requests that read, of all daemons together, in any minute.', 1, 600)
      .prefault(54),
    writesPerMinute: leaf
      .count('Requests that change something, of all daemons together, in any minute.', 1, 200)
      .prefault(18),
    pageSize: leaf
      .count('Entries per page of a listing; halved when it is refused.', 1, 1000)
      .prefault(100),
    connectTimeout: leaf.duration('A connection is given up after this.').prefault('10s'),
    attemptTimeout: leaf.duration('One call of the API is given up after this.').prefault('60s'),
    operationTimeout: leaf
      .duration('An operation with all its calls and waits is given up after this.')
      .prefault('12m'),
    staleOn: leaf
      .duration('How long after an installation was asked for the state `on` says nothing of it.')
      .prefault('3m'),
    settle: leaf.duration('How long a new machine may take to show up in the list.').prefault('2m'),
  });

function slots() {
  const type = 'a list of {plan, site, count}';
  const slot = z.strictObject({
    plan: leaf.text('Plan, by its slug.', {
      matches: /^[a-z0-9][a-z0-9.-]*$/,
      type: 'the slug of a plan such as c3-small-x86',
    }),
    site: leaf
      .text('Site.', { matches: /^[A-Z0-9]+$/, type: 'a site in capitals such as ASH' })
      .refine((site) => site.length <= SITE_MAX, {
        error: `is too long for a host name; give at most ${SITE_MAX} characters`,
      }),
    count: leaf.count('How many machines.', 1, 1000),
  });
  return z
    .array(slot, {
      error: ({ input }) =>
        input === undefined ? `is missing; give ${type}` : `is no list; give ${type}`,
    })
    .min(1, { error: `is empty; give ${type}` })
    .meta({
      type: 'list of {plan, site, count}',
      description: 'How many machines of which plan at which site may be made.',
    });
}

/** Keys of a provider with driver `latitude`, as in the file. */
export const latitudeSchema = (around: Surroundings) =>
  fields(around)
    .refine(({ baseUrl }) => baseUrlFault(baseUrl, false) === false, {
      path: ['baseUrl'],
      error: 'sends the token in clear; give an https URL',
    })
    .superRefine(({ slots: given, namePrefix }, context) => {
      const twice = firstTwice(placesOf(given, namePrefix).map(({ hostname }) => hostname));
      if (twice === null) return;
      const message = `two of them have the host name ${twice}; give each plan and site once`;
      context.addIssue({ code: 'custom', path: ['slots'], message });
    });

/** Keys of a provider with driver `latitude`, as parsed. */
export type LatitudeSettings = z.output<ReturnType<typeof latitudeSchema>>;
export type Slots = readonly Readonly<Record<'plan' | 'site', string> & { count: number }>[];

function firstTwice(names: readonly string[]): string | null {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size) ?? null;
}

/** One configured project. */
export interface LatitudeConfig extends Omit<LatitudeSettings, 'token'> {
  /** Name of the provider in slots, BMDB and metrics. */
  readonly name: string;
  readonly instanceSetId: string;
  /** Called before each attempt, so that a rotated token is used. Never logged. */
  readonly token: () => string;
  /** OpenSSH line of the key that new machines let in; may change. */
  readonly publicKeyLine: string;
  /** OpenSSH lines of our earlier keys; may change. */
  readonly previousKeyLines: readonly string[];
  readonly places: readonly Place[];
}

/** Configured limits and waits, in milliseconds. */
export const timingsOf = (config: LatitudeConfig): ApiTimings => ({
  connectTimeoutMs: config.connectTimeout,
  attemptTimeoutMs: config.attemptTimeout,
  listPageTimeoutMs: config.attemptTimeout,
  operationTimeoutMs: config.operationTimeout,
  // Reads are retried after about 1, 2 and 4 seconds.
  backoffInitialMs: 1_000,
  backoffMaximumMs: 4_000,
  pauseMaxMs: 5 * 60_000,
  authPauseMs: 60_000,
});
