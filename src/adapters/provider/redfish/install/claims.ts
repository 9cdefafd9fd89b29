import { z } from 'zod';
import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import type { ProviderRecord } from '../../../../domain/provisioning/records.ts';
import type { Records } from '../../port.ts';
import { METHODS } from './settings.ts';

/** How far an installation came; written before the step that it names. */
export const PHASES = ['preparing', 'poweringOff', 'poweringOn', 'installing'] as const;
export type Phase = (typeof PHASES)[number];

const Value = z.object({
  /** Whose it is. */
  set: z.string(),
  witness: z.string(),
  hostname: z.string(),
  /** Where its entry said that it is; null: an earlier program wrote this. */
  place: z.object({ plan: z.string(), location: z.string().nullable() }).nullable().default(null),
  /** All tags of the machine. */
  tags: z.record(z.string(), z.string()),
  /** What the installation is for; an earlier program did not write it, and went on with neither. */
  order: z.enum(['create', 'reinstall']).default('reinstall'),
  install: z.object({
    method: z.enum(METHODS),
    /** Of the image or the address that is booted, with `{token}`; null: of the configuration. */
    template: z.string().nullable().default(null),
    phase: z.enum(PHASES),
    /** Of the token: the token itself is sealed. */
    tokenSha256: z.string(),
    /** Token and seed; null when it is over. */
    sealed: z.string().nullable(),
    /** Epoch milliseconds. */
    askedAtMs: z.number(),
    deadlineMs: z.number(),
    /** Whoever asked by the MAC address since the last power-on was answered. */
    isAnswered: z.boolean(),
  }),
  /** Null: it goes on. */
  result: z
    .object({
      end: z.enum(['done', 'failed']),
      atMs: z.number(),
      why: z.string(),
      /** Medium and override are gone. */
      isTidy: z.boolean(),
    })
    .nullable(),
});
export type ClaimValue = z.output<typeof Value>;

/** What is written of a machine that is somebody's. */
export interface Claim extends ClaimValue {
  /** Of its entry in the inventory. */
  readonly entryId: string;
  readonly version: string;
}

/**
 * A creation whose power-on may not have been sent: there is no machine yet, the place counts as free,
 * and whoever made the claim goes on.
 */
export const isUnfinished = ({ order, install, result }: ClaimValue): boolean =>
  order === 'create' && result === null && install.phase !== 'installing';

/** The power-on was surely not sent. */
export const isUnbegun = (claim: ClaimValue): boolean =>
  isUnfinished(claim) && claim.install.phase !== 'poweringOn';

/** What there is of all machines, as of one moment. */
export interface Claimed {
  readonly claims: ReadonlyMap<string, Claim>;
  /** Keys of records that this program cannot read: those machines are somebody's, too. */
  readonly unreadable: ReadonlySet<string>;
}

/** The claims of a rack, in the records of its provider. All reject as `Records` does. */
export interface Claims {
  /** As it was read or written last by this process. */
  known(): Claimed;
  read(signal: AbortSignal): Promise<Claimed>;
  /** @throws {ProviderError} `conflict`: it cannot be read. */
  of(entryId: string, signal: AbortSignal): Promise<Claim | null>;
  /** Null: somebody was faster. */
  make(entryId: string, value: ClaimValue, signal: AbortSignal): Promise<Claim | null>;
  /** @throws {ProviderError} `conflict`: it was changed since it was read, or is gone. */
  replace(claim: Claim, change: Partial<ClaimValue>, signal: AbortSignal): Promise<Claim>;
  /**
   * Changes it as it is now; reads it again when somebody else was faster.
   * @param change null: nothing is to be changed any more.
   */
  update(
    entryId: string,
    change: (claim: Claim) => Partial<ClaimValue> | null,
    signal: AbortSignal,
  ): Promise<Claim | null>;
  drop(claim: Claim, signal: AbortSignal): Promise<void>;
  /** @throws {ProviderError} `conflict`: one of these machines is being installed, or perhaps. */
  requireNoneUnderWay(
    entries: readonly { readonly id: string }[],
    signal: AbortSignal,
  ): Promise<void>;
}

const ATTEMPTS = 8;

export function createClaims(records: Records): Claims {
  let known: Claimed = { claims: new Map(), unreadable: new Set() };
  /** Counts readings and writings; a reading may end when what was written meanwhile is newer. */
  let moment = 0;
  let knownSince = 0;
  const writtenAt = new Map<string, number>();

  function note(entryId: string, claim: Claim | null): void {
    const claims = new Map(known.claims);
    if (claim) claims.set(entryId, claim);
    else claims.delete(entryId);
    known = { ...known, claims };
    writtenAt.set(entryId, ++moment);
  }

  async function read(signal: AbortSignal): Promise<Claimed> {
    const claims = new Map<string, Claim>();
    const unreadable = new Set<string>();
    const since = ++moment;
    for (const record of await records.all({ signal })) {
      const claim = claimOf(record);
      if (claim) claims.set(record.key, claim);
      else unreadable.add(record.key);
    }
    for (const [entryId, at] of writtenAt) {
      const written = known.claims.get(entryId);
      if (at < since) writtenAt.delete(entryId);
      else if (written) claims.set(entryId, written);
      else claims.delete(entryId);
    }
    const found = { claims, unreadable };
    if (since < knownSince) return found;
    knownSince = since;
    known = found;
    return found;
  }

  async function of(entryId: string, signal: AbortSignal): Promise<Claim | null> {
    const { claims, unreadable } = await read(signal);
    if (!unreadable.has(entryId)) return claims.get(entryId) ?? null;
    throw new ProviderError('conflict', `what is recorded of ${entryId} cannot be read here`);
  }

  async function replace(claim: Claim, change: Partial<ClaimValue>, signal: AbortSignal) {
    const { entryId, version: _old, ...before } = claim;
    const value = { ...before, ...change };
    const version = await records.replace(entryId, value, claim.version, { signal });
    const next = { ...value, entryId, version };
    note(entryId, next);
    return next;
  }

  return {
    known: () => known,
    read,
    of,
    replace,
    async make(entryId, value, signal) {
      try {
        const version = await records.make(entryId, value, { signal });
        const claim = { ...value, entryId, version };
        note(entryId, claim);
        return claim;
      } catch (error) {
        if (isProviderError(error, 'conflict')) return null;
        throw error;
      }
    },
    async update(entryId, change, signal) {
      for (let attempt = 1; ; attempt++) {
        const claim = await of(entryId, signal);
        const next = claim && change(claim);
        if (!claim || !next) return claim;
        try {
          return await replace(claim, next, signal);
        } catch (error) {
          if (!isProviderError(error, 'conflict') || attempt === ATTEMPTS) throw error;
        }
      }
    },
    async drop({ entryId, version }, signal) {
      await records.drop(entryId, version, { signal });
      note(entryId, null);
    },
    async requireNoneUnderWay(entries, signal) {
      const { claims, unreadable } = await read(signal);
      const busy = entries.find(({ id }) => unreadable.has(id) || claims.get(id)?.result === null);
      if (busy) throw new ProviderError('conflict', `${busy.id} is being installed`);
    },
  };
}

function claimOf({ key, value, version }: ProviderRecord): Claim | null {
  const parsed = Value.safeParse(value);
  return parsed.success ? { ...parsed.data, entryId: key, version } : null;
}

const WITNESS_DIGITS = 8;

/** The machine's id: another one with each claim, so that an order for an earlier one finds nothing. */
export const machineIdOf = ({ entryId, witness }: Pick<Claim, 'entryId' | 'witness'>): string =>
  `${entryId}.${witness.slice(0, WITNESS_DIGITS)}`;

/** The entry of a machine's id, whoever claims it; null: it is no such id. */
export const entryIdOf = (machineId: string): string | null =>
  /^(.+)\.[^.]{1,8}$/u.exec(machineId)?.[1] ?? null;
