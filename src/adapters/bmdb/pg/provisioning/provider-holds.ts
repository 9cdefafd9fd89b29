import { holdForMs } from '../../preconditions.ts';
import type { Database } from '../pool.ts';
import { named, statement } from '../statement.ts';
import type { ProviderHoldBook } from '../../port.ts';

export const statements = named('provider-hold', {
  /** A later end is never shortened; a hold without end keeps it. */
  impose: statement({
    params: {
      ...{ provider: 'text', kind: 'text', key: 'text', forMs: 'float8' },
      ...{ level: 'int8', amount: 'int8?', cause: 'text' },
    },
    text: ({ provider, kind, key, forMs, level, amount, cause }) =>
      `INSERT INTO provider_holds AS h (provider, kind, key, until, level, amount, cause)
       VALUES (${provider}, ${kind}, ${key}, now() + ${forMs} * interval '1 millisecond',
         ${level}, ${amount}, ${cause})
       ON CONFLICT (provider, kind, key) DO UPDATE SET level = excluded.level,
         amount = excluded.amount, cause = excluded.cause,
         until = CASE WHEN h.until IS NOT NULL THEN greatest(h.until, excluded.until) END`,
  }),
  lift: statement({
    params: { provider: 'text', kind: 'text', key: 'text?', seenUntil: 'float8?' },
    columns: { key: 'text' },
    // The caller read whole milliseconds, rounded down.
    text: ({ provider, kind, key, seenUntil }) =>
      `DELETE FROM provider_holds
       WHERE provider = ${provider} AND kind = ${kind} AND key = coalesce(${key}, key)
         AND coalesce(until < to_timestamp((${seenUntil} + 1) / 1000), ${seenUntil} IS NULL)
       RETURNING key`,
  }),
  /** Penalties stay until their slot proves itself. */
  trim: statement({
    name: 'sweep-trim-provider-holds',
    params: { limit: 'int8' },
    text: ({ limit }) =>
      `DELETE FROM provider_holds WHERE (provider, kind, key) IN (
         SELECT provider, kind, key FROM provider_holds
         WHERE kind <> 'penalty' AND until < now() - interval '1 day'
         LIMIT ${limit} FOR UPDATE SKIP LOCKED)`,
  }),
});

/** See `ProviderHoldBook`. Both calls are idempotent, so a lost answer does no harm. */
export const createProviderHolds = (db: Database): ProviderHoldBook => ({
  impose: async (hold) => {
    const doing = `impose hold ${hold.kind} ${hold.key} on provider ${hold.provider}`;
    await db.write(doing, statements.impose, { ...hold, forMs: holdForMs(hold) });
  },
  lift: async (provider, kind, key, seenUntil) => {
    const doing = `lift hold ${kind} ${key ?? ''} from provider ${provider}`;
    return (await db.write(doing, statements.lift, { provider, kind, key, seenUntil })).length;
  },
});
