import { z } from 'zod';
import { entriesOf, type Entries, type Unread } from '../../../http/pages.ts';

/**
 * The fields of the API's documents that we use; unknown ones are left out, and all but the id may be
 * missing. Nulls are dropped before.
 */
const ID = /^[a-z]+_[A-Za-z0-9]+$/;
export const isId = (text: string): boolean => ID.test(text) && text.length <= 128;
const id = z.string().refine(isId);
const text = z.string().optional();
const flag = z.boolean().optional();
const slugged = z.object({ slug: text }).optional();

/** One resource, its attributes beside its id. */
const resource = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z
    .object({ id, attributes: z.object(shape).prefault({} as never) })
    .transform((told) => ({ id: told.id, ...(told.attributes as z.output<z.ZodObject<Shape>>) }));

export const server = resource({
  hostname: text,
  label: text,
  status: text,
  site: text,
  locked: flag,
  primary_ipv4: text,
  primary_ipv6: text,
  created_at: text,
  scheduled_deletion_at: text,
  plan: z.object({ slug: text, name: text, billing: text }).optional(),
  operating_system: slugged,
  region: z.object({ site: slugged }).optional(),
  project: z.object({ id: text }).optional(),
});
export type Server = z.output<typeof server>;

/** Its content is a secret, and goes no further than into a record. */
export const userData = resource({
  description: text,
  content: text,
  created_at: text,
  project: z.object({ id: text }).optional(),
});
export type UserData = z.output<typeof userData>;

export const sshKey = resource({ name: text, public_key: text });
export type SshKey = z.output<typeof sshKey>;

export const project = resource({ name: text, provisioning_type: text, billing_type: text });
export type Project = z.output<typeof project>;

export const operatingSystem = z
  .object({
    id: z.string(),
    attributes: z.object({
      slug: text,
      user: text,
      features: z.object({ ssh_keys: flag, user_data: flag, raid: flag }).optional(),
    }),
  })
  .transform(({ id: named, attributes }) => ({ id: named, ...attributes }));
export type OperatingSystem = z.output<typeof operatingSystem>;

/** What the server was installed with; of the user data only which record it was. */
export const deployConfig = z
  .object({
    attributes: z.object({
      user_data: z.union([z.string(), z.object({ id: z.string() })]).optional(),
    }),
  })
  .transform(({ attributes: { user_data: named } }) => ({
    userData: typeof named === 'object' ? named.id : (named ?? null),
  }));
export type DeployConfig = z.output<typeof deployConfig>;

/** A document about one thing. */
export const documentOf = <T>(schema: z.ZodType<T>): z.ZodType<T> =>
  z.object({ data: schema }).transform(({ data }) => data);

/** The answer about one thing that was asked for by its id: another one's is no answer. */
export const documentOfId = <T extends { readonly id: string }>(
  schema: z.ZodType<T>,
  wanted: string,
): z.ZodType<T> =>
  documentOf(schema).refine((found) => found.id === wanted, { path: ['data', 'id'] });

/** A page of a list; the total is told only if it was asked for, and not by every version. */
export interface ListPage<T> extends Entries<T> {
  readonly total: number | null;
}

const totals = z
  .object({ stats: z.object({ total: z.object({ count: z.number() }) }) })
  .optional()
  .catch(undefined);

export const pageOf = <T>(schema: z.ZodType<T>): z.ZodType<ListPage<T>> =>
  z
    .object({ data: entriesOf(schema, namesOf), meta: totals })
    .transform(({ data, meta }) => ({ ...data, total: meta?.stats.total.count ?? null }));

/** What can be read of an entry that cannot be read whole; in place of a reservation its host name. */
const namesOf = (entry: unknown): Pick<Unread, 'id' | 'reservationId'> => {
  const { id: told = null, attributes } = entryNames.safeParse(entry).data ?? {};
  return { id: told, reservationId: attributes?.hostname ?? null };
};
const entryNames = z.object({
  id: id.optional().catch(undefined),
  attributes: z
    .object({ hostname: text.catch(undefined) })
    .optional()
    .catch(undefined),
});

/** Replies without content, whatever they hold. */
export const nothing = z.unknown().transform(() => undefined);
