import { z } from 'zod';
import { entriesOf } from '../../../http/pages.ts';

/**
 * What Robot answers, as far as it is read. Null and a missing field mean the same, and are the same
 * when these schemas see them. What nobody needs is not looked at, so that it can spoil nothing.
 */

const wrapped = <Key extends string, Inner extends z.ZodType>(key: Key, inner: Inner) =>
  z.object({ [key]: inner } as Record<Key, Inner>).transform((value) => {
    return (value as Record<Key, z.output<Inner>>)[key];
  });

const server = z
  .object({
    server_number: z.int().positive(),
    server_name: z.string().default(''),
    server_ip: z.string().optional(),
    server_ipv6_net: z.string().optional(),
    product: z.string().optional(),
    dc: z.string().optional(),
    status: z.string().default(''),
    cancelled: z.boolean().default(false),
    paid_until: z.string().optional(),
    reset: z.boolean().optional(),
    rescue: z.boolean().optional(),
  })
  .transform((raw) => ({
    number: raw.server_number,
    name: raw.server_name,
    ipv4: raw.server_ip || null,
    ipv6Net: raw.server_ipv6_net || null,
    product: raw.product ?? '',
    location: raw.dc ?? null,
    isReady: raw.status === 'ready',
    isCancelled: raw.cancelled,
    paidUntil: raw.paid_until ?? null,
    /** Only a server that is asked for by itself says so; null: it does not say. */
    canReset: raw.reset ?? null,
    canRescue: raw.rescue ?? null,
  }));
/** One server of the account. */
export type Server = z.output<typeof server>;
export const serverReply = wrapped('server', server);

const numberOf = z.object({ server: z.object({ server_number: z.int().positive() }) });

/** A listing: what can be read, and the numbers of what cannot. */
export const serverList = entriesOf(serverReply, (entry) => ({
  id: numberOf.safeParse(entry).data?.server.server_number.toString() ?? null,
  reservationId: null,
})).transform(({ items: servers, unread }) => {
  const unreadable = unread.flatMap(({ id }) => (id === null ? [] : Number(id)));
  return { servers, unreadable, nameless: unread.length - unreadable.length };
});
export type ServerList = z.output<typeof serverList>;

const resetOptions = z
  .object({ type: z.array(z.string()).default([]), operating_status: z.string().optional() })
  .transform(({ type, operating_status: status }) => ({
    types: type,
    operatingStatus: status ?? null,
  }));
/** How a server can be reset, and whether it runs, as far as Robot tells. */
export type ResetOptions = z.output<typeof resetOptions>;
export const resetReply = wrapped('reset', resetOptions);

const fingerprint = z
  .string()
  .regex(/^([0-9a-f]{2}:){15}[0-9a-f]{2}$/i)
  .transform((text) => text.toLowerCase());
/** Objects, or texts; what is neither names no key. */
const hostKeys = z
  .array(z.unknown())
  .default([])
  .transform((entries) =>
    entries.flatMap((entry) => {
      const text =
        typeof entry === 'string' ? entry : hostKeyObject.safeParse(entry).data?.key.fingerprint;
      const read = fingerprint.safeParse(text);
      return read.success ? [read.data] : [];
    }),
  );
const hostKeyObject = z.object({ key: z.object({ fingerprint: z.string() }) });

const authorizedKeys = z
  .array(z.unknown())
  .default([])
  .transform((entries) =>
    entries.flatMap((entry) => hostKeyObject.safeParse(entry).data?.key.fingerprint ?? []),
  );

/**
 * The password in it is dropped here, unread: nobody needs it, and it must not be anywhere. Of `os`
 * nothing is read either: it is a list while the rescue system is not armed and one text while it is.
 */
const rescue = z
  .object({
    active: z.boolean(),
    os: z.union([z.string(), z.array(z.string())]).optional(),
    authorized_key: authorizedKeys,
    host_key: hostKeys,
  })
  .transform((raw) => ({
    isArmed: raw.active,
    /** Armed: the one that will boot. Else those that could be. */
    systems: raw.os === undefined ? [] : [raw.os].flat(),
    keys: raw.authorized_key as readonly string[],
    hostKeys: raw.host_key as readonly string[],
  }));
/** Whether the next boot goes to the rescue system, and how that can be known again. */
export type Rescue = z.output<typeof rescue>;
export const rescueReply = wrapped('rescue', rescue);

const OTHER_BOOTS = ['linux', 'vnc', 'windows', 'plesk', 'cpanel'] as const;
const active = z.object({ active: z.literal(true) });
const bootState = z.object({ rescue: rescue.optional() }).loose();
/** What the next boot of a server leads to, of all that there may be. */
export const bootReply = wrapped(
  'boot',
  bootState.transform((raw) => ({
    isRescueArmed: raw.rescue?.isArmed ?? false,
    /** Installations that are armed: the next boot begins them. */
    others: OTHER_BOOTS.filter((kind) => active.safeParse(raw[kind]).success),
  })),
);
export type BootState = z.output<typeof bootReply>;

const key = z
  .object({ name: z.string().default(''), fingerprint, created_at: z.string().optional() })
  .transform(({ name, fingerprint: md5, created_at: at }) => ({
    name,
    md5,
    createdAt: at ?? null,
  }));
/** An SSH key of the account. */
export type AccountKey = z.output<typeof key>;
export const keyReply = wrapped('key', key);
export const keyList = z.array(keyReply);

export const nothing = z.unknown().transform(() => undefined);
