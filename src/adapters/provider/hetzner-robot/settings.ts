import { z } from 'zod';
import * as leaf from '../../../settings/leaves.ts';
import type { Surroundings } from '../../../settings/secret.ts';
import { baseUrlFault } from '../../driver-kit/errors.ts';
import {
  adoptionSettings,
  adoptsOnly,
  installationNeeds,
} from '../../driver-kit/inventory/adopted-list.ts';
import { CLASS_NAMES } from './api.ts';

const PREFIX = {
  matches: /^[a-z0-9][a-z0-9-]{0,19}-$/,
  type: 'a prefix of 2 to 21 lower-case letters, digits and hyphens that ends in a hyphen',
};

/** installimage lines for software RAID, partitions and volumes; the driver writes all others. */
const LAYOUT_LINE =
  /^(SWRAID [01]|SWRAIDLEVEL (0|1|5|6|10)|PART [a-z0-9/._-]+ [a-z0-9]+ ([0-9]+[MGT]?|all)( crypt)?|LV [a-z0-9_-]+ [a-z0-9_-]+ [a-z0-9/._-]+ [a-z0-9]+ ([0-9]+[MGT]?|all))$/i;
const DRIVE = /^[a-z0-9][a-z0-9._-]{3,79}$/i;
const SERVER = /^[1-9]\d{0,8}$/;

/** A file below the image folder, without a path out of it. */
const IMAGE = /^(?!.*(^|\/)\.\.?(\/|$))[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}$/;
export const isImageFile = (text: string): boolean => IMAGE.test(text);
const IMAGE_URL = {
  matches: /^https:\/\/[A-Za-z0-9.-]+(:\d{1,5})?\/[A-Za-z0-9._~%+,=@/-]+$/,
  type: 'an https URL without credentials and query',
};

const perServer = <Value extends z.ZodType>(value: Value, meaning: string, type: string) =>
  z
    .record(
      z.string().regex(SERVER, { error: 'is not a server number; give one such as 321' }),
      value,
    )
    .meta({ type, description: meaning });

const drives = () =>
  z
    .union([
      z.literal('all'),
      z.record(
        z.string().regex(SERVER, { error: 'is not a server number; give one such as 321' }),
        z
          .array(z.string().regex(DRIVE, { error: 'is not a WWN; give one such as eui.0025385b' }))
          .min(1, { error: 'has no drive; give the WWN of at least one' })
          .max(24, { error: 'has too many drives; give at most 24' }),
      ),
    ])
    .meta({
      type: '`all`, or WWNs by server number',
      description:
        'Drives for a new system; `{ "321": ["eui.…"] }` for a server with additional drives.',
    });

/** Keys that installations need; a provider that only adopts servers has none of them. */
const INSTALLING = {
  namePrefix: () =>
    leaf.text(
      'Prefix of the names of our servers; used by this instance set only. Needed to install.',
      PREFIX,
    ),
  freePrefix: () =>
    leaf.text(
      'Prefix of the names of servers that may be used; used by this instance set only. Needed to install.',
      PREFIX,
    ),
  sshKeyName: () =>
    leaf.text('Name of our SSH key in Robot. Needed to install.', {
      matches: /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,99}$/,
      type: 'a name of at most 100 letters, digits, spaces and ._@-',
    }),
};
const INSTALLATION = [...Object.keys(INSTALLING), 'image', 'imageUrl'];

const fields = (around: Surroundings) =>
  z.strictObject({
    baseUrl: leaf
      .url('URL of the API, without a trailing slash.')
      .prefault('https://robot-ws.your-server.de')
      .transform((text) => text.replace(/\/+$/, '')),
    user: leaf.text('Web-service user of the account, not its login.', {
      matches: /^[^\s:]+$/,
      type: 'a user name without a colon',
    }),
    ...adoptionSettings(around),
    password: leaf.secret('Password of the web-service user.', around),
    namePrefix: INSTALLING.namePrefix().optional(),
    freePrefix: INSTALLING.freePrefix().optional(),
    servers: z
      .array(z.int().min(1).max(999_999_999), { error: 'give a list of server numbers' })
      .min(1, { error: 'has no server; leave it out for all servers' })
      .max(10_000, { error: 'has too many servers; give at most 10000' })
      .meta({
        type: 'list of server numbers',
        description: 'The only servers to list and change; absent: all.',
      })
      .optional(),
    sshKeyName: INSTALLING.sshKeyName().optional(),
    rescueKeyFile: z
      .never({
        error:
          'is not a setting of this driver: rescue systems accept the key of ssh.keyPath, as new systems do; leave it out',
      })
      .optional()
      .meta({
        type: 'never given',
        description: 'Not allowed: rescue systems accept the key of `ssh.keyPath`.',
      }),
    imageUrl: leaf
      .text('URL of an image for the rescue system, instead of one that it has (image).', IMAGE_URL)
      .optional(),
    drives: drives().prefault('all'),
    layout: z
      .array(
        leaf.text('Line of installimage: SWRAID, SWRAIDLEVEL, PART or LV.', {
          matches: LAYOUT_LINE,
          type: 'a line SWRAID, SWRAIDLEVEL, PART or LV as installimage reads it',
        }),
        { error: 'give a list of lines as installimage reads them' },
      )
      .min(1, { error: 'has no line; leave it out for the default layout' })
      .max(64, { error: 'has too many lines; give at most 64' })
      .meta({
        type: 'list of lines',
        description:
          'Partitions, as lines of installimage; absent: RAID 1 over two drives or more, `/boot` and `/`.',
      })
      .optional(),
    sshPort: leaf
      .count('SSH port of all servers; change it only for emulators.', 1, 65_535)
      .prefault(22),
    rescueTimeout: leaf
      .duration('Time limit for each boot of a server into the rescue system.', 60_000)
      .prefault('10m'),
    installTimeout: leaf.duration('Time limit for an installation.', 60_000).prefault('40m'),
    wipe: leaf
      .choice(
        ['quick', 'none'],
        'At give-back: `quick` removes all signatures from all drives; `none` leaves the system running.',
      )
      .prefault('quick'),
    listCache: leaf
      .duration('How long a listing is cached, times the number of daemons.', 0)
      .prefault('60s'),
    limits: z
      .record(
        z
          .string()
          .refine((name) => CLASS_NAMES.includes(name), {
            error: `is no limit; give one of ${CLASS_NAMES.join(', ')}`,
          }),
        leaf.count('Requests per hour.', 1, 1_000_000),
      )
      .meta({
        type: 'map of counts',
        description:
          'Requests that Robot allows in an hour, by method and path such as `POST /reset`, where it is not what its documentation says.',
      })
      .prefault({}),
    plan: perServer(
      leaf.text('Plan of a server.'),
      'Plan by server number, where the product that Robot names is not to be it.',
      'map of texts',
    ).prefault({}),
  });

/** Keys of a provider with driver `hetzner-robot`, as in the file. */
export const robotSchema = (around: Surroundings) =>
  installationNeeds(fields(around), INSTALLING, INSTALLATION)
    .refine(({ baseUrl }) => !/^http:/i.test(baseUrl) || baseUrlFault(baseUrl, false) === false, {
      when: ({ value }) => typeof (value as { baseUrl?: unknown })?.baseUrl === 'string',
      path: ['baseUrl'],
      error: 'would send the password unencrypted; give an https URL (http is for loopback only)',
    })
    .refine(({ namePrefix, freePrefix }) => !nested(namePrefix!, freePrefix!), {
      when: ({ value }) => areTexts(value, 'namePrefix', 'freePrefix'),
      path: ['freePrefix'],
      error: 'and namePrefix overlap; neither may be a prefix of the other',
    })
    .refine((value) => adoptsOnly(value, INSTALLATION) || namesOneImage(value), {
      when: () => true,
      path: ['image'],
      error: 'needs a file in the image folder, or imageUrl; give exactly one of them',
    });

/** `image` is a common key, `imageUrl` this driver's own. */
function namesOneImage(value: unknown): boolean {
  const { image, imageUrl } = (value ?? {}) as {
    readonly image?: unknown;
    readonly imageUrl?: unknown;
  };
  if (imageUrl !== undefined) return image === undefined;
  return typeof image === 'string' && isImageFile(image);
}

const areTexts = (value: unknown, ...keys: readonly string[]): boolean =>
  keys.every((key) => typeof (value as Readonly<Record<string, unknown>>)?.[key] === 'string');

/** Whether a name could match both prefixes. */
export const nested = (one: string, other: string): boolean =>
  one.startsWith(other) || other.startsWith(one);

/** Keys of a provider with driver `hetzner-robot`, as parsed. */
export type RobotSettings = z.output<ReturnType<typeof robotSchema>>;

type InstallingKey = keyof typeof INSTALLING;
/** Whether the provider installs servers; otherwise it only adopts some. */
export const isInstalling = (
  settings: RobotSettings,
): settings is RobotSettings & Record<InstallingKey, string> => settings.freePrefix !== undefined;

/** One configured account, as the driver uses it. */
export interface RobotConfig
  extends Omit<RobotSettings, InstallingKey>, Readonly<Record<InstallingKey, string>> {
  /** Name of the provider in slots, BMDB and metrics. */
  readonly name: string;
  /** `xxxxx-xxxxx-xxxxxxxxxxxxxxx`: marks our servers. */
  readonly instanceSetId: string;
}
