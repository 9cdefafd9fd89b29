import { expect } from 'vitest';
import { z } from 'zod';

/**
 * The fields of replies, from the vendor's published models and from recorded replies of the real
 * service: names, types, optional fields and closed sets of values. A reply holds nothing else.
 */
const ID = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[A-Za-z0-9]+$`));
const text = z.string();
const textOrNull = z.string().nullable();
/** Whole seconds with an offset, as the recorded replies have it. */
const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);

const STATES = [
  'on',
  'off',
  'unknown',
  'disk_erasing',
  'deploying',
  'failed_deployment',
  'rescue_mode',
  'ready',
  'failed_disk_erasing',
  'starting_deploy',
] as const;
const features = z.strictObject({
  raid: z.boolean(),
  rescue: z.boolean(),
  ssh_keys: z.boolean(),
  user_data: z.boolean(),
});
const team = z.strictObject({
  id: ID('team'),
  name: text,
  slug: text,
  description: textOrNull,
  address: textOrNull,
  currency: z.strictObject({ id: text, code: text, name: text }),
  status: text,
});
const project = z.strictObject({
  id: ID('proj'),
  name: text,
  slug: text,
  description: textOrNull,
  billing_type: z.enum(['Normal', '95th percentile']),
  billing_method: z.enum(['Normal', '95th percentile']),
  bandwidth_alert: z.boolean().nullable(),
  environment: z.enum(['Development', 'Staging', 'Production']).nullable(),
  billing: z.strictObject({ subscription_id: textOrNull, type: text, method: text }),
  stats: z.strictObject({
    ip_addresses: z.int(),
    prefixes: z.int(),
    servers: z.int(),
    containers: z.int(),
    vlans: z.int(),
  }),
});
const plan = z.strictObject({
  id: ID('plan'),
  name: text,
  slug: text,
  billing: z.enum(['hourly', 'monthly', 'yearly']),
});
const specs = { cpu: text, disk: text, ram: text, nic: text };

/** By type: the attributes of the long form. */
const ATTRIBUTES: Readonly<Record<string, z.ZodType>> = {
  servers: z.strictObject({
    tags: z.array(z.strictObject({ id: ID('tag'), name: text })),
    hostname: text,
    label: text,
    price: z.number(),
    role: text,
    primary_ipv4: z.ipv4().nullable(),
    primary_ipv6: z.ipv6().nullable(),
    status: z.enum(STATES),
    ipmi_status: z.enum(['Normal', 'Intermittent', 'Unavailable']),
    created_at: time,
    scheduled_deletion_at: time.nullable(),
    locked: z.boolean(),
    region: z.strictObject({
      city: text,
      country: text,
      site: z.strictObject({ id: ID('loc'), name: text, slug: text, facility: text }),
    }),
    team,
    project,
    plan,
    operating_system: z.strictObject({
      name: text,
      slug: text,
      version: text,
      features,
      distro: z.strictObject({ name: text, slug: text, series: text }),
    }),
    specs: z.strictObject({ ...specs, gpu: textOrNull }),
  }),
  projects: project.extend({
    tags: z.array(z.unknown()),
    provisioning_type: z.enum(['on_demand', 'reserved']),
    team,
    created_at: time,
    updated_at: time,
  }),
  user_data: z.strictObject({
    description: text,
    content: text,
    created_at: time,
    updated_at: time,
    decoded_content: text,
    project: z.looseObject({ id: ID('proj') }).optional(),
  }),
  ssh_keys: z.strictObject({
    tags: z.array(z.unknown()),
    name: text,
    public_key: text,
    fingerprint: z.string().regex(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/),
    created_at: time,
    updated_at: time,
    user: z.unknown().optional(),
    project: z.looseObject({ id: ID('proj') }).optional(),
  }),
  deploy_config: z.strictObject({
    operating_system: text,
    hostname: text,
    raid: z.enum(['raid-0', 'raid-1']).nullable(),
    disk_layout: z.array(z.unknown()),
    user_data: ID('ud').nullable(),
    ssh_keys: z.array(ID('ssh')),
  }),
  actions: z.strictObject({ status: text }),
  reinstalls: z.strictObject({ status: z.enum(STATES) }),
  schedule_deletion: z.strictObject({ server_id: ID('sv'), scheduled_deletion_at: time }),
  operating_systems: z.strictObject({
    name: text,
    distro: text,
    slug: text,
    version: text,
    user: text,
    features,
    provisionable_on: z.array(text),
  }),
};
/** What a create answers, and nothing more. */
const SHORT_SERVER = z.strictObject({
  hostname: text,
  label: text,
  role: text,
  status: z.literal('starting_deploy'),
  primary_ipv4: z.ipv4().nullable(),
  specs: z.strictObject(specs),
  plan,
});

const meta = z.strictObject({
  stats: z.strictObject({ total: z.strictObject({ count: z.int() }) }).optional(),
});
const errors = z.strictObject({
  errors: z
    .array(
      z.strictObject({
        code: text,
        status: z.string().regex(/^[45]\d\d$/),
        title: text,
        detail: text,
        source: z
          .strictObject({ pointer: text.regex(/^\/data/) })
          .or(z.strictObject({ parameter: text }))
          .optional(),
        meta: z.strictObject({ retry_after: z.int().optional() }),
      }),
    )
    .min(1),
});

/** By method and path: what succeeds, and with which type of resource, one of them or many. */
const ROUTES: readonly (readonly [RegExp, number, string | null, 'one' | 'many'])[] = [
  [/^GET \/servers$/, 200, 'servers', 'many'],
  [/^POST \/servers$/, 201, 'servers', 'one'],
  [/^GET \/servers\/\w+$/, 200, 'servers', 'one'],
  [/^DELETE \/servers\/\w+$/, 204, null, 'one'],
  [/^POST \/servers\/\w+\/schedule_deletion$/, 201, 'schedule_deletion', 'one'],
  [/^POST \/servers\/\w+\/actions$/, 201, 'actions', 'one'],
  [/^POST \/servers\/\w+\/reinstall$/, 201, 'reinstalls', 'one'],
  [/^GET \/servers\/\w+\/deploy_config$/, 200, 'deploy_config', 'one'],
  [/^GET \/user_data$/, 200, 'user_data', 'many'],
  [/^POST \/user_data$/, 201, 'user_data', 'one'],
  [/^(GET|PATCH) \/user_data\/\w+$/, 200, 'user_data', 'one'],
  [/^DELETE \/user_data\/\w+$/, 204, null, 'one'],
  [/^GET \/ssh_keys$/, 200, 'ssh_keys', 'many'],
  [/^POST \/ssh_keys$/, 201, 'ssh_keys', 'one'],
  [/^GET \/plans\/operating_systems$/, 200, 'operating_systems', 'many'],
  [/^GET \/projects$/, 200, 'projects', 'many'],
];

const DOCUMENT_TYPE = 'application/vnd.api+json; charset=utf-8';

/** Holds a reply against the table. @throws {AssertionError} it does not fit. */
export function judge(method: string, url: string, reply: Response, body: string): void {
  const what = `${method} ${url.split('?')[0]} ${reply.status}: ${body.slice(0, 2_000)}`;
  expect(reply.headers.get('x-request-id'), what).toMatch(/^\S+$/);
  expect(Math.abs(Date.parse(reply.headers.get('date') ?? '')), what).not.toBeNaN();
  if (reply.status === 204) {
    expect(body, what).toBe('');
    return;
  }
  expect(reply.headers.get('content-type'), what).toBe(DOCUMENT_TYPE);
  const document: unknown = JSON.parse(body);
  if (reply.status >= 400) {
    const told = errors.safeParse(document);
    expect(told.error?.issues, what).toBeUndefined();
    expect(new Set(told.data?.errors.map(({ status }) => status)), what).toEqual(
      new Set([String(reply.status)]),
    );
    return;
  }
  const route = ROUTES.find(([pattern]) => pattern.test(`${method} ${url.split('?')[0]}`));
  expect(route?.[1], what).toBe(reply.status);
  const [, , type, form] = route!;
  const attributes =
    method === 'POST' && type === 'servers' && reply.status === 201
      ? SHORT_SERVER
      : ATTRIBUTES[type!]!;
  const resource = z.strictObject({
    id: z.string().regex(/^[a-z]+_\w+$/),
    type: z.literal(type),
    attributes,
  });
  const schema = z.strictObject({ data: form === 'many' ? z.array(resource) : resource, meta });
  expect(schema.safeParse(document).error?.issues, what).toBeUndefined();
}
