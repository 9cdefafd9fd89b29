import * as leaf from '../settings/leaves.ts';
import { z } from 'zod';
import { DAEMON_ROLES, type DaemonRole } from '../domain/daemons.ts';
import { namesTypes } from '../domain/events/fleet-event.ts';
import { signingSecretOf } from '../domain/events/retries.ts';
import type { Surroundings } from '../settings/secret.ts';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import type { BalancerDriver } from '../adapters/balancer/port.ts';

/** What a daemon does, in the order of the documentation whatever the order of the file. */
export const rolesSchema = () =>
  z
    .array(leaf.choice(DAEMON_ROLES, 'What the daemon does.'), {
      error: `is no list; give some of ${DAEMON_ROLES.join(', ')}`,
    })
    .min(1, { error: `is empty; give some of ${DAEMON_ROLES.join(', ')}, or leave it out` })
    .transform((named) => DAEMON_ROLES.filter((role) => named.includes(role)))
    .meta({
      type: `some of ${DAEMON_ROLES.join(', ')}`,
      description: 'What this daemon does; others of the same database do the rest.',
    })
    .prefault([...DAEMON_ROLES]);

/** What of the configuration says whether roles make sense, whatever else is wrong in it. */
interface Written {
  readonly roles?: unknown;
  readonly database?: { readonly url?: unknown; readonly embedded?: unknown };
  readonly agent?: { readonly endpoint?: unknown };
  readonly balancers?: object;
}

/** Why a daemon with these roles, and this configuration, could do nothing or would do harm; null: neither. */
export function complaintAboutRoles({ roles, database, agent, balancers }: Written): string | null {
  if (!Array.isArray(roles)) return null;
  const has = (role: DaemonRole) => roles.includes(role);
  if (database?.embedded !== undefined && !DAEMON_ROLES.every(has)) {
    return 'leave work to other daemons, and no other one reaches database.embedded; give database.url, or all roles';
  }
  if (has('loops') && !has('agent-server') && agent?.endpoint === undefined) {
    return 'have machines started whose agents do not report here; give agent.endpoint, where they do';
  }
  if (roles.length === 1 && has('balancer') && Object.keys(balancers ?? {}).length === 0) {
    return 'leave nothing to do: no balancers are configured';
  }
  return null;
}

const WEBHOOK_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** What is told goes there in clear otherwise. */
const isSafe = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/(127\.[\d.]+|\[::1\]|localhost)(:|\/|$)/.test(url);
const NO_SECRET =
  'leads to no signing secret; give whsec_ and 24 to 64 bytes in base64, such as of ' +
  'echo whsec_$(openssl rand -base64 32), or whsk_ and an ed25519 key';

/** Who is told of events over HTTP. */
export const webhooksSchema = (around: Surroundings) =>
  z
    .record(
      z.string().regex(WEBHOOK_NAME, 'give 1 to 64 letters, digits, dots, dashes'),
      z.strictObject({
        url: leaf
          .url('Where events are sent.')
          .refine(isSafe, { error: 'would be told in clear; give an https URL' }),
        types: z
          .array(
            leaf
              .text('Type of an event, or a group such as `machine.*`.')
              .refine(namesTypes, { error: 'is no type of events, nor a group such as guard.*' }),
          )
          .min(1)
          .meta({ type: 'list of types', description: 'What is sent; absent: everything.' })
          .optional(),
        secrets: z
          .array(
            leaf
              .secret('What it is signed with.', around)
              .refine((secret) => signingSecretOf(secret.read()) !== null, { error: NO_SECRET }),
          )
          .min(1)
          .max(2)
          .meta({ type: 'list of secrets', description: 'One; two while they are changed.' }),
        source: leaf.text('Names the fleet in what is sent, as a URI.').prefault('urn:shepherd'),
      }),
    )
    .meta({
      type: 'by name: url, types, secrets, source',
      description: 'Who is told of events over HTTP.',
    })
    .prefault({});

type DriverKeys = Readonly<Record<string, unknown>>;
/** One configured balancer: its driver, and the keys of that. */
export type BalancerSettings = { readonly driver: string } & DriverKeys;

/** What a pool, a balancer and a provider are named: part of names that others must be able to hold. */
const NAME = /^[a-z][a-z0-9-]{0,30}$/;
export const nameOf = (what: string) =>
  z
    .string()
    .regex(NAME, {
      error: `is no name for a ${what}; give a-z first, then a-z, 0-9 or -, at most 31 in all`,
    });

function settingsOf(driver: BalancerDriver, around: Surroundings): z.ZodObject {
  const own = driver.settings(around);
  if ('driver' in own.shape) throw new Error(`driver ${driver.name}: driver is no key of its own`);
  return own.safeExtend({ driver: leaf.choice([driver.name], 'Kind of load balancer.') });
}

/** The part of a configured balancer that is its driver's. */
export const ownBalancerSettingsOf = ({ driver: _, ...own }: BalancerSettings): DriverKeys => own;

function balancerSchema(around: Surroundings, drivers: ReadonlyMap<string, BalancerDriver>) {
  const variants = [...drivers.values()].map((driver) => settingsOf(driver, around));
  const names = [...drivers.keys()].join(', ');
  const union = z.discriminatedUnion('driver', variants as [z.ZodObject, ...z.ZodObject[]], {
    error: () => `names no driver that exists; give one of ${names}`,
  });
  return union as unknown as z.ZodType<BalancerSettings, BalancerSettings>;
}

/** All balancers, by name. No two of them may be one: what one of them writes the other would undo. */
export const balancersSchema = (around: Surroundings, drivers = BALANCER_DRIVERS) =>
  z
    .record(nameOf('balancer'), balancerSchema(around, drivers), {
      error: 'is not a section; give balancers by their names',
    })
    .superRefine((balancers, context) => {
      for (const { name, other, key } of twins(balancers, drivers)) {
        const message = `leads to the balancer that balancers.${other}.${key} leads to; keep one of them, and name it in every pool`;
        context.addIssue({ code: 'custom', path: [name, key], message });
      }
    })
    .prefault({});

/** Pairs of balancers that are one and the same, and by which key. */
function twins(
  balancers: Readonly<Record<string, BalancerSettings>>,
  drivers: ReadonlyMap<string, BalancerDriver>,
) {
  const entries = Object.entries(balancers);
  return entries.flatMap(([name, one], index) =>
    entries.slice(0, index).flatMap(([other, before]) => {
      if (one.driver !== before.driver) return [];
      const [own, others] = [ownBalancerSettingsOf(one), ownBalancerSettingsOf(before)];
      const key = drivers.get(one.driver)?.overlaps?.(own, others) ?? null;
      return key === null ? [] : [{ name, other, key }];
    }),
  );
}
