import { z } from 'zod';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { Driver } from '../adapters/provider/port.ts';
import { HOST_KEY_POLICIES, type HostKeyPolicy } from '../domain/policy.ts';
import { TAG_PREFIX } from '../domain/provisioning/provider-tags.ts';
import * as leaf from '../settings/leaves.ts';
import type { Surroundings } from '../settings/secret.ts';
import { apart, drivenSchema, nameOf, settingsOf, type DriverKeys } from './driven.ts';
import { erasingSwitch, ladderChangeSchema } from './ladder-schema.ts';
import { acceptanceSchema, chronicChangeSchema, retireWhen } from './repair-schema.ts';

/** Space for the site's own first-boot commands beside ours; user data is limited. */
const INIT_COMMAND_BYTES = 800;

/** Keys of every configured provider, whatever its driver. */
const commonShape = (around: Surroundings) => ({
  instanceSetId: leaf.text(
    'Marks all devices of this fleet. Never share it, and never change it while machines exist.',
    {
      matches: /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i,
      type: 'an id of 5-5-15 letters and digits, such as zzzzz-zzzzz-zzzzzzzzzzzzzzz',
    },
  ),
  sharedTags: z
    .record(tagKey(), leaf.text('Value of a tag for everything that Shepherd creates.'))
    .prefault({}),
  image: leaf.text("Operating system of new machines. Default: the driver's.").optional(),
  initCommand: leaf
    .script('Shell lines that a new machine runs at its first boot.', INIT_COMMAND_BYTES, around)
    .optional(),
  callsPerSecond: leaf
    .ratio(
      'Maximum calls per second of all daemons together. Deletions go first. 0: no limit.',
      0,
      1000,
    )
    .prefault(10),
  maxMachines: leaf
    .count('Maximum machines of this provider. Default: provisioner.maxMachines.', 0)
    .optional(),
  target: leaf
    .count(
      'Machines to keep in service. Retired ones and ones that need a person are replaced, see replacement. Default: every free slot is used, up to maxMachines.',
      0,
    )
    .optional(),
  retire: retireWhen().optional(),
  retired: leaf
    .choice(
      ['keep', 'give-back'],
      'What happens to a retired machine. keep (default): nothing. give-back: it is given back, with everything on its disks, unless a hold preserves it.',
    )
    .optional(),
  recoveryMayEraseDisks: erasingSwitch(),
  hostKeyPolicy: leaf
    .choice(
      HOST_KEY_POLICIES,
      'Host key policy of its machines. Default: strict for static, otherwise ssh.hostKeyPolicy.',
    )
    .optional(),
  ladder: ladderChangeSchema(),
  chronic: chronicChangeSchema(),
  acceptance: acceptanceSchema(),
});

const tagKey = () =>
  z
    .string()
    .refine((key) => /^[!-~]{1,100}$/.test(key) && !key.startsWith(TAG_PREFIX), {
      error: `is not a valid key for your tags; give printable characters, not ${TAG_PREFIX}… at the start`,
    });

/** Common settings of all providers, after parsing. */
export type CommonSettings = z.output<z.ZodObject<ReturnType<typeof commonShape>>>;
/** One configured provider: common keys and its driver's keys. */
export type ProviderSettings = CommonSettings & { readonly driver: string } & DriverKeys;
type ProviderInput = z.input<z.ZodObject<ReturnType<typeof commonShape>>> & {
  readonly driver: string;
} & DriverKeys;

/** The keys of one driver's providers. @throws {Error} a driver's key repeats a common one. */
export const providerSettingsOf = (driver: Driver, around: Surroundings): z.ZodObject =>
  settingsOf(driver, around, { kind: 'hardware supply', common: commonShape(around) });

const NOWHERE: Surroundings = { env: {}, baseDirectory: '/', checkFiles: false };

/** The driver's part of a configured provider. */
export function ownSettingsOf(settings: Pick<ProviderSettings, 'driver'>): DriverKeys {
  const common = new Set(['driver', ...Object.keys(commonShape(NOWHERE))]);
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !common.has(key)));
}

/** The host key policy of the provider, or else of its driver; undefined: the fleet's. */
export const hostKeyPolicyOf = (
  { driver, hostKeyPolicy }: Pick<CommonSettings, 'hostKeyPolicy'> & { readonly driver: string },
  drivers = DRIVERS,
): HostKeyPolicy | undefined => hostKeyPolicy ?? drivers.get(driver)?.hostKeyPolicy;

/** Drivers of earlier releases with simulated machines. */
const FORMER: readonly unknown[] = ['stub', 'loopback'];
const INSTEAD =
  'to try Shepherd, run shepherd sim, or list machines of your own with driver static';

/** One configured provider. */
export const providerSchema = (around: Surroundings, drivers = DRIVERS) =>
  drivenSchema(
    [...drivers.values()].map((driver) => providerSettingsOf(driver, around)),
    drivers,
    (driver) => (FORMER.includes(driver) ? `; ${INSTEAD}` : ''),
  ) as unknown as z.ZodType<ProviderSettings, ProviderInput>;

/** All providers by name. No two of them may claim the same devices. */
export const providersSchema = (around: Surroundings, drivers = DRIVERS) =>
  z
    .record(nameOf('provider'), providerSchema(around, drivers), {
      error: 'is missing; give at least one provider by its name',
    })
    .refine((providers) => Object.keys(providers).length > 0, {
      error: 'is empty; give at least one provider',
    })
    .superRefine(
      apart(drivers, (other) => `overlaps with that of provider ${other}; give it a different one`),
    );
