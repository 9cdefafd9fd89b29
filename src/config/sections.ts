import * as leaf from '../settings/leaves.ts';
import { z } from 'zod';
import { CONDITION_EFFECTS, CONDITION_TYPE } from '../domain/conditions.ts';
import { DAEMON_ROLES, type DaemonRole } from '../domain/daemons.ts';
import { namesTypes } from '../domain/events/fleet-event.ts';
import { RETIRE_WHEN } from '../domain/recovery/retirement.ts';
import { signingSecretOf } from '../domain/events/retries.ts';
import type { Surroundings } from '../settings/secret.ts';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import {
  apart,
  drivenSchema,
  filledSection,
  nameOf,
  settingsOf,
  type Driven,
  type DriverKeys,
} from './driven.ts';

/** A daemon's roles, in the documentation's order. */
export const rolesSchema = () =>
  z
    .array(leaf.choice(DAEMON_ROLES, 'Part of Shepherd that the daemon runs.'), {
      error: `is no list; give some of ${DAEMON_ROLES.join(', ')}`,
    })
    .min(1, { error: `is empty; give some of ${DAEMON_ROLES.join(', ')}, or leave it out` })
    .transform((named) => DAEMON_ROLES.filter((role) => named.includes(role)))
    .meta({
      type: `some of ${DAEMON_ROLES.join(', ')}`,
      description:
        'Parts of Shepherd that this daemon runs. Other daemons of the same database must run the rest.',
    })
    .prefault([...DAEMON_ROLES]);

/** What conditions do, by their types. */
export const conditionsSchema = () =>
  z
    .record(
      z
        .string()
        .regex(CONDITION_TYPE, {
          error: 'is no type of a condition; give a name such as disk-failing',
        }),
      leaf.choice(
        CONDITION_EFFECTS,
        'What a condition of this type does. tell (default): it is shown. no-new-work: no machine is created on the slot. drain: the machine also leaves its pools.',
      ),
    )
    .prefault({});

/** When recovery retires a machine. */
export const retireWhen = () =>
  leaf.choice(
    RETIRE_WHEN,
    'Whether recovery retires a machine that it cannot bring back. chronic: only one that was recovered too often. never (default): a person decides.',
  );

/** The replacement of retired machines. */
export const replacementSchema = () =>
  filledSection({
    maxPerDay: leaf
      .count(
        'Maximum machines per provider that are created in 24 hours in place of retired machines or ones that need a person. 0: none.',
        0,
        1000,
      )
      .prefault(2),
  });

/** The parts of the configuration that decide whether roles make sense, valid or not. */
interface Written {
  readonly roles?: unknown;
  readonly database?: { readonly url?: unknown; readonly embedded?: unknown };
  readonly agent?: { readonly endpoint?: unknown };
  readonly balancers?: object;
}

/** Why a daemon with these roles and this configuration would be useless or harmful; else null. */
export function complaintAboutRoles({ roles, database, agent, balancers }: Written): string | null {
  if (!Array.isArray(roles)) return null;
  const has = (role: DaemonRole) => roles.includes(role);
  if (database?.embedded !== undefined && !DAEMON_ROLES.every(has)) {
    return 'leave work to other daemons, and no other daemon reaches database.embedded; give database.url, or all roles';
  }
  if (has('loops') && !has('agent-server') && agent?.endpoint === undefined) {
    return 'have machines started whose agents do not report here; give agent.endpoint, where they do';
  }
  if (roles.length === 1 && has('balancer') && Object.keys(balancers ?? {}).length === 0) {
    return 'have no work: no balancers are configured';
  }
  return null;
}

const WEBHOOK_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Otherwise the events would travel unencrypted. */
const isSafe = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/(127\.[\d.]+|\[::1\]|localhost)(:|\/|$)/.test(url);
const NO_SECRET =
  'is not a signing secret; give whsec_ and 24 to 64 bytes in base64, such as from ' +
  'echo whsec_$(openssl rand -base64 32), or whsk_ and an ed25519 key';

/** Receivers of events over HTTP. */
export const webhooksSchema = (around: Surroundings) =>
  z
    .record(
      z.string().regex(WEBHOOK_NAME, 'give 1 to 64 letters, digits, dots, dashes'),
      z.strictObject({
        url: leaf
          .url('Address that receives events.')
          .refine(isSafe, { error: 'would receive events without encryption; give an https URL' }),
        types: z
          .array(
            leaf
              .text('Type of an event, or a group such as `machine.*`.')
              .refine(namesTypes, {
                error: 'is neither a type of event nor a group such as guard.*',
              }),
          )
          .min(1)
          .meta({ type: 'list of types', description: 'Types to send. Default: all.' })
          .optional(),
        secrets: z
          .array(
            leaf
              .secret('Signing secret.', around)
              .refine((secret) => signingSecretOf(secret.read()) !== null, { error: NO_SECRET }),
          )
          .min(1)
          .max(2)
          .meta({
            type: 'list of secrets',
            description: 'Signing secrets: one, or two during a change.',
          }),
        source: leaf.text('URI that names the fleet in events.').prefault('urn:shepherd'),
      }),
    )
    .meta({
      type: 'by name: url, types, secrets, source',
      description: 'Receivers of events over HTTP.',
    })
    .prefault({});

/** One configured balancer: its driver and the driver's keys. */
export type BalancerSettings = Driven;

/** The driver's part of a configured balancer. */
export const ownBalancerSettingsOf = ({ driver: _, ...own }: BalancerSettings): DriverKeys => own;

/** All balancers by name. */
export const balancersSchema = (around: Surroundings, drivers = BALANCER_DRIVERS) =>
  z
    .record(
      nameOf('balancer'),
      drivenSchema(
        [...drivers.values()].map((driver) =>
          settingsOf(driver, around, { kind: 'load balancer', common: {} }),
        ),
        drivers,
      ) as unknown as z.ZodType<BalancerSettings, BalancerSettings>,
      { error: 'is not a section; give balancers by their names' },
    )
    .superRefine(
      apart(
        drivers,
        (other, key) =>
          `names the same balancer as balancers.${other}.${key}; keep one of them, and use its name in every pool`,
        ({ driver: _, ...own }) => own as Driven,
      ),
    )
    .prefault({});
