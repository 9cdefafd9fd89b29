import { createHash } from 'node:crypto';
import { z } from 'zod';
import { isProviderError, ProviderError } from '../../../../domain/errors.ts';
import { TAG_PREFIX, type Tags } from '../../../../domain/provisioning/provider-tags.ts';
import type { ProviderRecord } from '../../../../domain/provisioning/records.ts';
import type { Random } from '../../../clock/port.ts';
import type { Records, DriverContext } from '../../port.ts';
import type { Bmc } from '../client/bmc.ts';
import { readSystem } from '../client/system.ts';
import { setIdIn, type BmcEntry } from '../entries.ts';
import { METHODS } from '../settings.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const TOKEN_DIGITS = 52;

/** Names an installation for its installer: 256 bits in base32, 52 digits. */
export const TOKEN = /^[a-z2-7]{52}$/;

/** Of three UUIDs that nobody can guess, which have more chance in them than that. */
export function newToken({ uuid }: Pick<Random, 'uuid'>): string {
  const bytes = createHash('sha256').update(`${uuid()} ${uuid()} ${uuid()}`).digest();
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits = bits.padEnd(TOKEN_DIGITS * 5, '0').match(/.{5}/g) ?? [];
  return digits.map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/** An address of the configuration for one installation. */
export const withToken = (address: string, token: string): string =>
  address.replaceAll('{token}', token);

const isOurTag = ([key]: readonly [string, string]): boolean => key.startsWith(TAG_PREFIX);

/** Tags that Shepherd writes. */
export const oursOf = (tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter(isOurTag));

/** Tags of anybody else. */
export const foreignOf = (tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter((tag) => !isOurTag(tag)));

/** How far an installation came; written before the step that it names. */
export const PHASES = ['preparing', 'poweringOff', 'poweringOn', 'installing'] as const;
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

const ATTEMPTS = 8;

/** The claims of a rack, in the records of its provider. All reject as `Records` does. */
export function createClaims(records: Records) {
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
    /** As it was read or written last by this process. */
    known: (): Claimed => known,
    read,
    /** @throws {ProviderError} `conflict`: it cannot be read. */
    of,
    /** @throws {ProviderError} `conflict`: it was changed since it was read, or is gone. */
    replace,
    /** Null: somebody was faster. */
    async make(entryId: string, value: ClaimValue, signal: AbortSignal): Promise<Claim | null> {
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
    /**
     * Changes it as it is now; reads it again when somebody else was faster.
     * @param change null: nothing is to be changed any more.
     */
    async update(
      entryId: string,
      change: (claim: Claim) => Partial<ClaimValue> | null,
      signal: AbortSignal,
    ): Promise<Claim | null> {
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
    async drop({ entryId, version }: Claim, signal: AbortSignal): Promise<void> {
      await records.drop(entryId, version, { signal });
      note(entryId, null);
    },
    /** @throws {ProviderError} `conflict`: one of these machines is being installed, or perhaps. */
    async requireNoneUnderWay(
      entries: readonly { readonly id: string }[],
      signal: AbortSignal,
    ): Promise<void> {
      const { claims, unreadable } = await read(signal);
      const busy = entries.find(({ id }) => unreadable.has(id) || claims.get(id)?.result === null);
      if (busy) throw new ProviderError('conflict', `${busy.id} is being installed`);
    },
  };
}
export type Claims = ReturnType<typeof createClaims>;

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

interface Looked {
  readonly all: readonly BmcEntry[];
  readonly bmcOf: (entry: BmcEntry) => Bmc;
}

/** For all looks together. */
const LOOKS_MS = 15_000;

/**
 * Looks for machines that carry our mark while nothing is recorded. Where the wrong database is
 * configured most of them do, so those that answer in time are enough to tell.
 * @throws {ProviderError} `conflict`: there are such machines. `aborted`: by the signal.
 */
export async function refuseStrayMarks(
  { all, bmcOf }: Looked,
  { clock, log, instanceSetId }: DriverContext,
  signal: AbortSignal,
): Promise<void> {
  const late = new AbortController();
  const timer = clock.setTimeout(() => late.abort(new Error('no time left')), LOOKS_MS);
  const until = AbortSignal.any([signal, late.signal]);
  const looks = await Promise.all(all.map(look)).finally(() => clock.clearTimeout(timer));
  if (signal.aborted) throw new ProviderError('aborted', 'aborted while marks were looked for');
  const untold = looks.filter((isOurs) => isOurs === null).length;
  if (untold > 0) {
    log.warn({ machines: all.length, untold }, 'not all machines told whether they carry a mark');
  }
  const marked = all.filter((_, index) => looks[index] === true);
  if (marked.length === 0) return;
  const message =
    `${marked.length} machines carry our mark, such as ${marked[0]!.id}, and nothing is recorded of ` +
    'any: this is not the database that they are claimed in';
  throw new ProviderError('conflict', message);

  /** Null: its BMC does not tell. */
  async function look(entry: BmcEntry): Promise<boolean | null> {
    const bmc = bmcOf(entry);
    try {
      const system = await bmc.inTurn({ signal: until }, (wire) =>
        readSystem(bmc, wire, entry.system, clock.monotonic()),
      );
      return setIdIn(system.assetTag) === instanceSetId;
    } catch (error) {
      if (!isProviderError(error)) throw error;
      return null;
    }
  }
}
