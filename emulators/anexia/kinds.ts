import { z } from 'zod';

export const KINDS = ['backend', 'frontend', 'bind', 'server'] as const;
export type ObjectKind = (typeof KINDS)[number];

export const TYPE_IDS: Readonly<Record<ObjectKind, string>> = {
  backend: '33164a3066a04a52be43c607f0c5dd8c',
  frontend: 'da9d14b9d95840c08213de67f9cee6e2',
  bind: 'bd24def982aa478fb3352cb5f49aab47',
  server: '01f321a4875446409d7d8469503a905f',
};

const name = z.string().min(1).max(255);
const mode = z.enum(['tcp', 'http']);
const port = z.int().min(1).max(65_535);
/** A link is the id of another object as text; the form of answers is refused. */
const link = z.string().min(1);
const optional = {
  customer_identifier: z.string().optional(),
  reseller_identifier: z.string().optional(),
  automation_rules: z.array(z.unknown()).optional(),
};

/** Fields of a creation by kind. Other fields are refused. */
export const BODIES = {
  backend: z.strictObject({
    name,
    mode,
    load_balancer: link,
    health_check: z.string().optional(),
    server_timeout: z.int().min(1).optional(),
    ...optional,
  }),
  frontend: z.strictObject({
    name,
    mode,
    load_balancer: link,
    default_backend: link.optional(),
    client_timeout: z.int().min(1).optional(),
    ...optional,
  }),
  bind: z.strictObject({
    name,
    address: z.union([z.ipv4(), z.ipv6()]),
    port,
    frontend: link,
    ssl: z.boolean().optional(),
    ssl_certificate_path: z.string().optional(),
    ...optional,
  }),
  server: z.strictObject({
    name,
    ip: z.union([z.ipv4(), z.ipv6()]),
    port,
    backend: link,
    check: z.enum(['enabled', 'disabled']).optional(),
    ...optional,
  }),
} as const satisfies Record<ObjectKind, z.ZodObject>;

/** References of each kind: field → kind. */
export const LINKS: Readonly<
  Record<ObjectKind, Readonly<Record<string, ObjectKind | 'loadbalancer'>>>
> = {
  backend: { load_balancer: 'loadbalancer' },
  frontend: { load_balancer: 'loadbalancer', default_backend: 'backend' },
  bind: { frontend: 'frontend' },
  server: { backend: 'backend' },
};

/** Filters of each kind's list. */
export const FILTERS: Readonly<Record<ObjectKind, readonly string[]>> = {
  backend: ['load_balancer', 'mode'],
  frontend: ['load_balancer', 'mode'],
  bind: ['frontend'],
  server: ['backend'],
};

/** States by id; the type says 0 error, 1 OK, 2 pending. */
export const STATES: Readonly<Record<string, { readonly title: string; readonly type: number }>> = {
  0: { title: 'Updating', type: 1 },
  1: { title: 'Updated', type: 1 },
  2: { title: 'DeploymentError', type: 0 },
  3: { title: 'Deployed', type: 1 },
  4: { title: 'NewlyCreated', type: 2 },
};
