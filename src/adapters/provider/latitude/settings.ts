import { createHash } from 'node:crypto';
import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import type { ApiTimings } from '../../driver-kit/terms.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';
import { adoptionSettings, installationNeeds } from '../../driver-kit/inventory/adopted-list.ts';

/** A place for a machine in the configuration. */
export interface ServerSlot {
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
export const placesOf = (slots: Slots, namePrefix: string): ServerSlot[] =>
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

/** Keys that installations need; a provider that only adopts servers has none of them. */
const INSTALLING = {
  slots: () => slots(),
  namePrefix: () =>
    leaf
      .text(
        'Prefix of the host names of all machines; used by this instance set only. Needed to install.',
        {
          matches: /^[a-z0-9][a-z0-9-]*-$/,
          type: 'a prefix of lower-case letters, digits and hyphens that ends in a hyphen',
        },
      )
      .refine((prefix) => prefix.length <= PREFIX_MAX, {
        error: `is too long for a host name; give at most ${PREFIX_MAX} characters`,
      }),
  sshKeyName: () => leaf.text('Name of our SSH key in the project. Needed to install.'),
};

const fields = (around: Surroundings) =>
  z.strictObject({
    baseUrl: leaf
      .url('URL of the API, without a trailing slash.')
      .prefault('https://api.latitude.sh')
      .transform((text) => text.replace(/\/+$/, '')),
    token: leaf.secret('API key; used by this instance set only, in its own project.', around),
    project: leaf.text('Id of the project that has the machines.', {
      matches: /^proj_[A-Za-z0-9]+$/,
      type: 'the id of a project, proj_…, not its slug, which may change',
    }),
    ...adoptionSettings(around),
    slots: slots().optional(),
    namePrefix: INSTALLING.namePrefix().optional(),
    os: leaf
      .text('Operating system of new machines, by its slug.', {
        matches: /^[A-Za-z0-9][\w.-]*$/,
        type: 'the slug of an operating system',
      })
      .prefault('ubuntu_24_04_x64_lts'),
    billing: leaf
      .choice(
        ['hourly', 'monthly', 'yearly'],
        'Billing of new machines: hourly or monthly (in advance) in an on-demand project, yearly in a reserved one.',
      )
      .prefault('hourly'),
    raid: leaf.choice(['raid-0', 'raid-1'], 'RAID of the disks of new machines.').optional(),
    sshKeyName: INSTALLING.sshKeyName().optional(),
    onDeprovision: leaf
      .choice(
        ['delete', 'schedule'],
        'What happens to a machine that is given back: deleted at once, or switched off and deleted at the end of its billing cycle.',
      )
      .prefault('delete'),
    readsPerMinute: leaf
      .count('Read requests per minute, of all daemons together.', 1, 600)
      .prefault(54),
    writesPerMinute: leaf
      .count('Write requests per minute, of all daemons together.', 1, 200)
      .prefault(18),
    pageSize: leaf
      .count('Entries per page of a listing; halved if the API refuses it.', 1, 1000)
      .prefault(100),
    connectTimeout: leaf.duration('Time limit for a connection.').prefault('10s'),
    attemptTimeout: leaf.duration('Time limit for an API call.').prefault('60s'),
    operationTimeout: leaf
      .duration('Time limit for an operation with all its calls and waits.')
      .prefault('12m'),
    staleOn: leaf
      .duration('How long after an installation request the state `on` proves nothing.')
      .prefault('3m'),
    settle: leaf.duration('How long a new machine may take to appear in the list.').prefault('2m'),
  });

function slots() {
  const type = 'a list of {plan, site, count}';
  const slot = z.strictObject({
    plan: leaf.text('Slug of the plan.', {
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
        input === undefined ? `is missing; give ${type}` : `is not a list; give ${type}`,
    })
    .min(1, { error: `is empty; give ${type}` })
    .meta({
      type: 'list of {plan, site, count}',
      description: 'Maximum machines of each plan at each site.',
    });
}

/** Keys of a provider with driver `latitude`, as in the file. */
export const latitudeSchema = (around: Surroundings) =>
  installationNeeds(fields(around), INSTALLING, Object.keys(INSTALLING))
    .refine(({ baseUrl }) => baseUrlFault(baseUrl, false) === false, {
      path: ['baseUrl'],
      error: 'would send the token unencrypted; give an https URL',
    })
    .superRefine(({ slots: given = [], namePrefix = '' }, context) => {
      const twice = firstTwice(placesOf(given, namePrefix).map(({ hostname }) => hostname));
      if (twice === null) return;
      const message = `gives the host name ${twice} twice; give each plan and site once`;
      context.addIssue({ code: 'custom', path: ['slots'], message });
    });

/** Keys of a provider with driver `latitude`, as parsed. */
export type LatitudeSettings = z.output<ReturnType<typeof latitudeSchema>>;
type InstallingKey = keyof typeof INSTALLING;
export type Slots = readonly Readonly<Record<'plan' | 'site', string> & { count: number }>[];

function firstTwice(names: readonly string[]): string | null {
  const seen = new Set<string>();
  return names.find((name) => seen.size === seen.add(name).size) ?? null;
}

/** One configured project. */
export interface LatitudeConfig extends Omit<LatitudeSettings, 'token' | InstallingKey> {
  readonly namePrefix: string;
  readonly sshKeyName: string;
  /** Name of the provider in slots, BMDB and metrics. */
  readonly name: string;
  readonly instanceSetId: string;
  /** Called before each attempt, so that a rotated token is used. Never logged. */
  readonly token: () => string;
  /** OpenSSH line of the key that new machines let in; may change. */
  readonly publicKeyLine: string;
  /** OpenSSH lines of our earlier keys; may change. */
  readonly previousKeyLines: readonly string[];
  readonly places: readonly ServerSlot[];
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
