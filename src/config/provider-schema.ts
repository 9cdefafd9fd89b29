import { z } from 'zod';
import { DRIVERS } from '../adapters/provider/drivers.ts';
import type { Driver } from '../adapters/provider/port.ts';
import { HOST_KEY_POLICIES, type HostKeyPolicy } from '../domain/policy.ts';
import { TAG_PREFIX } from '../domain/provisioning/provider-tags.ts';
import * as leaf from '../settings/leaves.ts';
import type { Surroundings } from '../settings/secret.ts';
import { erasingSwitch, ladderChangeSchema } from './ladder-schema.ts';

/** Room that the site's own lines of the first boot have beside ours; user data is scarce. */
const INIT_COMMAND_BYTES = 800;

/** Keys of every configured provider, whatever its driver. */
const commonShape = (around: Surroundings) => ({
  instanceSetId: leaf.text(
    'Marks every device of ours: never shared, never changed while machines exist.',
    {
      matches: /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i,
      type: 'an id of 5-5-15 letters and digits, such as zzzzz-zzzzz-zzzzzzzzzzzzzzz',
    },
  ),
  sharedTags: z
    .record(tagKey(), leaf.text('Value of a tag that is put on everything that is made.'))
    .prefault({}),
  image: leaf.text('Operating system of new machines; unset: the driver’s usual.').optional(),
  initCommand: leaf
    .script('Shell lines that a new machine runs at its first boot.', INIT_COMMAND_BYTES, around)
    .optional(),
  callsPerSecond: leaf
    .ratio('Calls of all daemons together, destroying ones first; 0 is no limit.', 0, 1000)
    .prefault(10),
  maxMachines: leaf
    .count('Most machines of this provider; unset: provisioner.maxMachines.', 0)
    .optional(),
  recoveryMayEraseDisks: erasingSwitch(),
  hostKeyPolicy: leaf
    .choice(
      HOST_KEY_POLICIES,
      'For its machines, instead of ssh.hostKeyPolicy; unset: strict for static, else as there.',
    )
    .optional(),
  ladder: ladderChangeSchema(),
});

const tagKey = () =>
  z
    .string()
    .refine((key) => /^[!-~]{1,100}$/.test(key) && !key.startsWith(TAG_PREFIX), {
      error: `is no key for a tag of yours; give printable characters, not ${TAG_PREFIX}… at the start`,
    });

/** What all configured providers have, as the program has it. */
export type CommonSettings = z.output<z.ZodObject<ReturnType<typeof commonShape>>>;
/** One configured provider: what all have, and the keys of its driver. */
export type ProviderSettings = CommonSettings & { readonly driver: string } & DriverKeys;
type ProviderInput = z.input<z.ZodObject<ReturnType<typeof commonShape>>> & {
  readonly driver: string;
} & DriverKeys;
type DriverKeys = Readonly<Record<string, unknown>>;

/** The keys of one driver's providers. @throws {Error} it has one that all providers have. */
export function settingsOf(driver: Driver, around: Surroundings): z.ZodObject {
  const own = driver.settings(around);
  const common = {
    driver: leaf.choice([driver.name], 'Kind of hardware supply.'),
    ...commonShape(around),
  };
  const clash = Object.keys(common).find((key) => key in own.shape);
  if (clash) throw new Error(`driver ${driver.name}: every provider has a key ${clash} already`);
  return own.safeExtend(common);
}

const NOWHERE: Surroundings = { env: {}, baseDirectory: '/', checkFiles: false };

/** The part of a configured provider that is its driver's. */
export function ownSettingsOf(settings: Pick<ProviderSettings, 'driver'>): DriverKeys {
  const common = new Set(['driver', ...Object.keys(commonShape(NOWHERE))]);
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !common.has(key)));
}

/** What it, or else its driver, says of its machines' host keys; undefined: what the fleet says. */
export const hostKeyPolicyOf = (
  { driver, hostKeyPolicy }: Pick<CommonSettings, 'hostKeyPolicy'> & { readonly driver: string },
  drivers = DRIVERS,
): HostKeyPolicy | undefined => hostKeyPolicy ?? drivers.get(driver)?.hostKeyPolicy;

/** Drivers of earlier releases, whose machines were pretended. */
const FORMER: readonly unknown[] = ['stub', 'loopback'];
const INSTEAD =
  'to try Shepherd, run shepherd sim, or list machines of your own with driver static';

/** One configured provider. */
export function providerSchema(around: Surroundings, drivers = DRIVERS) {
  const [first, ...others] = [...drivers.values()].map((driver) => settingsOf(driver, around));
  const names = [...drivers.keys()].join(', ');
  const union = z.discriminatedUnion('driver', [first!, ...others], {
    error: ({ input }) => {
      const { driver } = input as { readonly driver?: unknown };
      const instead = FORMER.includes(driver) ? `; ${INSTEAD}` : '';
      return `names no driver that exists; give one of ${names}${instead}`;
    },
  });
  return union as unknown as z.ZodType<ProviderSettings, ProviderInput>;
}

/** All providers, by name. Two of them must never claim the same devices. */
export const providersSchema = (around: Surroundings, drivers = DRIVERS) =>
  z
    .record(
      z
        .string()
        .regex(/^[a-z][a-z0-9-]{0,30}$/, {
          error: 'is no name for a provider; give a-z first, then a-z, 0-9 or -, at most 31 in all',
        }),
      providerSchema(around, drivers),
      { error: 'is missing; give at least one provider by its name' },
    )
    .superRefine((providers, context) => {
      if (Object.keys(providers).length === 0) {
        context.addIssue({ code: 'custom', message: 'is empty; give at least one provider' });
      }
      for (const { name, other, key } of overlaps(providers, drivers)) {
        const message = `overlaps with that of provider ${other}; give it one of its own`;
        context.addIssue({ code: 'custom', path: [name, key], message });
      }
    });

/** Pairs of providers that would claim the same machines, and by which key. */
function overlaps(
  providers: Readonly<Record<string, ProviderSettings>>,
  drivers: ReadonlyMap<string, Driver>,
) {
  const entries = Object.entries(providers);
  return entries.flatMap(([name, one], index) =>
    entries.slice(0, index).flatMap(([other, before]) => {
      if (one.driver !== before.driver) return [];
      const key = drivers.get(one.driver)?.overlaps?.(one, before) ?? null;
      return key === null ? [] : [{ name, other, key }];
    }),
  );
}
