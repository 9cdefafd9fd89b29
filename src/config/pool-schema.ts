import { z } from 'zod';
import {
  canonicalAddress,
  DRAIN_POLICIES,
  LONGEST_GRACE_MS,
  SERVING_STATES,
  type Pool,
} from '../domain/balancing/pools.ts';
import { CHECK_PATH, type HealthCheck } from '../domain/balancing/objects.ts';
import { formatDuration } from '../settings/duration.ts';
import * as leaf from '../settings/leaves.ts';
import { filledSection, nameOf, notASection, section } from './driven.ts';

const PORT_MAX = 65_535;

/** Last part of our objects' names at a balancer. */
export const fleetSchema = () =>
  leaf
    .text('Name of this fleet at its balancers. All names there end with it.', {
      matches: /^[A-Za-z0-9][A-Za-z0-9-]{0,30}$/,
      type: 'a name of letters, digits and -, at most 31',
    })
    .prefault('shepherd');

/** A list of texts of one kind, without duplicates. */
export function list<Of extends z.ZodType>(of: Of, kind: string, meaning: string) {
  const type = `a list of ${kind}`;
  const error = (issue: { readonly input?: unknown }) =>
    issue.input === undefined
      ? `is missing; give ${type}: ${meaning}`
      : `is ${leaf.show(issue.input)}; give ${type}`;
  return z
    .array(of, { error })
    .superRefine((entries, context) => {
      if (entries.length === 0) {
        context.addIssue({ code: 'custom', message: `is empty; give at least one of ${kind}` });
      }
      const twice = entries.find((entry, index) => entries.indexOf(entry) !== index);
      if (twice === undefined) return;
      const message = `has ${leaf.show(twice)} twice; give it once`;
      context.addIssue({ code: 'custom', message });
    })
    .meta({ type: `list of ${kind}`, description: meaning });
}

const addressSchema = () =>
  z
    .string({ error: 'is not an IP address; give a text such as 192.0.2.10' })
    .transform((text, on) => {
      const address = canonicalAddress(text);
      if (address !== null) return address;
      const message = `is ${leaf.show(text)}; give an IP address without port, zone and leading zeros`;
      on.addIssue({ code: 'custom', message });
      return z.NEVER;
    });

const CHECK = 'tcp, or { http: /path }';
const PATH_TYPE = 'of letters, digits, ._~!&()*+,;=:@/?- and escapes such as %20, at most 200';
const checkSchema = () =>
  z
    .union(
      [
        z.literal('tcp').transform((): HealthCheck => ({ by: 'tcp' })),
        z
          .strictObject({ http: z.string().regex(CHECK_PATH) })
          .transform(({ http }): HealthCheck => ({ by: 'http', path: http })),
      ],
      { error: (issue) => `is ${leaf.show(issue.input)}; give ${CHECK}, a path ${PATH_TYPE}` },
    )
    .prefault('tcp')
    .meta({
      type: CHECK,
      description: 'Health check: a TCP connect, or a GET of the path with a status below 400.',
    });

const portSchema = () =>
  section({
    external: leaf.count('Port for clients at the balancer.', 1, PORT_MAX),
    internal: leaf.count('Port of the machines.', 1, PORT_MAX),
    check: checkSchema(),
  });

const portsSchema = () =>
  z
    .record(
      z
        .string()
        .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,30}$/, {
          error: 'is not a valid name for a port; give letters, digits, - or _, at most 31 in all',
        }),
      portSchema(),
      { error: 'is missing; give at least one port by its name' },
    )
    .superRefine((ports, context) => {
      if (Object.keys(ports).length > 0) return;
      context.addIssue({ code: 'custom', message: 'is empty; give at least one port by its name' });
    });

const selectSchema = () =>
  z.strictObject(
    {
      providers: list(z.string(), 'providers', 'Machines of these providers.').optional(),
      locations: list(z.string(), 'locations', 'Machines at these locations.').optional(),
      plans: list(
        z.string(),
        'plans',
        "Machines of these plans, as in the provider's listing.",
      ).optional(),
      labels: z
        .record(z.string().min(1), leaf.text('Value of a tag of the device at its provider.'))
        .prefault({}),
    },
    {
      error: (issue) =>
        issue.input === undefined
          ? 'is missing; select the machines that serve here, or give {} for all'
          : notASection(),
    },
  );

const drainSchema = () =>
  filledSection({
    grace: leaf
      .duration('How long connections may continue before they are cut, at most 5m.', 1000)
      .refine((ms) => typeof ms !== 'number' || ms <= LONGEST_GRACE_MS, {
        error: `is too long; give at most ${formatDuration(LONGEST_GRACE_MS)}`,
      })
      .prefault('30s'),
    policy: leaf
      .choice(
        DRAIN_POLICIES,
        'What happens to planned interruptions while a balancer cannot be reached: require refuses them, best-effort continues.',
      )
      .prefault('require'),
    wait: leaf
      .duration(
        'With require: how long an interruption waits for the balancer before it is refused.',
        1000,
      )
      .prefault('10m'),
    atOnce: leaf.count('Maximum members interrupted by plan at once.', 1, 1000).prefault(1),
  });

const poolSchema = () =>
  section({
    balancers: list(z.string(), 'balancers', 'Balancers that serve the pool.'),
    uid: leaf
      .text(
        'Marks our objects at the balancers. Never change it while the pool exists. Default: <pool>.<fleet>.',
        {
          matches: /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
          type: 'a text of letters, digits, ., - and _, at most 100',
        },
      )
      .optional(),
    addresses: list(addressSchema(), 'IP addresses', 'Addresses for clients.'),
    ports: portsSchema(),
    select: selectSchema(),
    memberStates: list(
      leaf.choice(SERVING_STATES, 'State of a machine.'),
      `states of ${SERVING_STATES.join(', ')}`,
      'States in which a machine serves.',
    ).prefault(['Running']),
    drain: drainSchema(),
    minActive: leaf
      .count('Minimum active members that a planned interruption must leave.', 0, 10_000)
      .prefault(1),
    warmUp: leaf
      .duration(
        'After this time a new member gets traffic even if its checks fail, and a note.',
        1000,
      )
      .prefault('2m'),
  });

/** All pools by name. Conflicts are checked with the whole configuration. */
export const poolsSchema = () =>
  z
    .record(nameOf('pool'), poolSchema(), { error: 'is not a section; give pools by their names' })
    .prefault({});

type PoolSettings = z.output<ReturnType<typeof poolSchema>>;
/** The sections that define pools. */
export interface PoolsPart {
  readonly fleet: string;
  readonly pools: Readonly<Record<string, DeepReadonly<PoolSettings>>>;
}
type DeepReadonly<T> = { readonly [Key in keyof T]: DeepReadonly<T[Key]> };

/** The mark of the pool's objects. */
export const uidOf = (pool: string, uid: string | undefined, fleet: string): string =>
  uid ?? `${pool}.${fleet}`;

/** The configured pools as `Pool` values, in file order. */
export const poolsOf = ({ fleet, pools }: PoolsPart): readonly Pool[] =>
  Object.entries(pools).map(([name, pool]) => ({
    pool: name,
    uid: uidOf(name, pool.uid, fleet),
    suffix: `${name}.${fleet}`,
    balancers: pool.balancers,
    addresses: pool.addresses,
    ports: Object.entries(pool.ports).map(([port, of]) => ({ name: port, ...of })),
    select: {
      providers: pool.select.providers ?? null,
      locations: pool.select.locations ?? null,
      plans: pool.select.plans ?? null,
      labels: pool.select.labels,
    },
    memberStates: pool.memberStates,
    drain: {
      graceMs: pool.drain.grace,
      policy: pool.drain.policy,
      waitMs: pool.drain.wait,
      atOnce: pool.drain.atOnce,
    },
    minActive: pool.minActive,
    warmUpMs: pool.warmUp,
  }));
