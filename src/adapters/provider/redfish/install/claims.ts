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

/** Identifies an installation for its installer: 256 bits in base32, 52 digits. */
export const TOKEN = /^[a-z2-7]{52}$/;

/** Hashes three unguessable UUIDs, which have more entropy than the token. */
export function newToken({ uuid }: Pick<Random, 'uuid'>): string {
  const bytes = createHash('sha256').update(`${uuid()} ${uuid()} ${uuid()}`).digest();
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const digits = bits.padEnd(TOKEN_DIGITS * 5, '0').match(/.{5}/g) ?? [];
  return digits.map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

export const hashOfToken = (token: string): string =>
  createHash('sha256').update(token).digest('hex');

/** A configured URL with an installation's token. */
export const withToken = (address: string, token: string): string =>
  address.replaceAll('{token}', token);

const isOurTag = ([key]: readonly [string, string]): boolean => key.startsWith(TAG_PREFIX);

/** Tags that Shepherd writes. */
export const oursOf = (tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter(isOurTag));

/** Tags of others. */
export const foreignOf = (tags: Tags): Record<string, string> =>
  Object.fromEntries(Object.entries(tags).filter((tag) => !isOurTag(tag)));

/** Phases of an installation; each is written before the step that it names. */
export const PHASES = ['preparing', 'poweringOff', 'poweringOn', 'installing'] as const;
const Value = z.object({
  /** Owning instance set. */
  set: z.string(),
  witness: z.string(),
  hostname: z.string(),
  /** Place of its entry; null: an earlier version wrote the record. */
  place: z.object({ plan: z.string(), location: z.string().nullable() }).nullable().default(null),
  /** All tags of the machine. */
  tags: z.record(z.string(), z.string()),
  /** Purpose of the installation; an earlier version did not write it, and resumed neither kind. */
  order: z.enum(['create', 'reinstall']).default('reinstall'),
  install: z.object({
    method: z.enum([...METHODS, 'kexec']),
    /** URL or image to boot, with `{token}`; null: the configured one. */
    template: z.string().nullable().default(null),
    phase: z.enum(PHASES),
    /** Digest of the token; the token itself is sealed. */
    tokenSha256: z.string(),
    /** Token and seed; null after the end. */
    sealed: z.string().nullable(),
    /** Epoch milliseconds. */
    askedAtMs: z.number(),
    deadlineMs: z.number(),
    /** A request by MAC address has been answered since the last power-on. */
    isAnswered: z.boolean(),
    /** For a machine whose own system starts the installer: that system, and how it was known. */
    self: z
      .object({
        /** Host key that the inventory has of it. */
        listedKey: z.string().nullable(),
        /** The disk to install, as the installer finds it. */
        disk: z.string(),
        /** If we installed it: its tags, and the key that the inventory had before. */
        before: z
          .object({ tags: z.record(z.string(), z.string()), listedKey: z.string().nullable() })
          .nullable(),
      })
      .nullable()
      .default(null),
  }),
  /** Null: the installation is in progress. */
  result: z
    .object({
      end: z.enum(['done', 'failed']),
      atMs: z.number(),
      why: z.string(),
      /** Medium and override have been removed. */
      isTidy: z.boolean(),
    })
    .nullable(),
});
export type ClaimValue = z.output<typeof Value>;

/** A stored claim on a machine. */
export interface Claim extends ClaimValue {
  /** Id of its inventory entry. */
  readonly entryId: string;
  readonly version: string;
}

/**
 * True for a creation that may not have sent its power-on yet. There is no machine yet, the place
 * counts as free, and the claim's creation can resume.
 */
export const isUnfinished = ({ order, install, result }: ClaimValue): boolean =>
  order === 'create' && result === null && install.phase !== 'installing';

/** The power-on was definitely not sent. */
export const isUnbegun = (claim: ClaimValue): boolean =>
  isUnfinished(claim) && claim.install.phase !== 'poweringOn';

/** Claims of all machines in one snapshot. */
export interface Claimed {
  readonly claims: ReadonlyMap<string, Claim>;
  /** Keys of records that this program cannot read: those machines are claimed, too. */
  readonly unreadable: ReadonlySet<string>;
}

const ATTEMPTS = 8;

/** Claims of a rack, in its provider's records. All methods reject like `Records`. */
export function createClaims(records: Records) {
  let known: Claimed = { claims: new Map(), unreadable: new Set() };
  /** Counts reads and writes; a read may end after a newer write. */
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
    throw new ProviderError('conflict', `the record of ${entryId} cannot be read by this program`);
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
    /** As last read or written by this process. */
    known: (): Claimed => known,
    read,
    /** @throws {ProviderError} `conflict`: the claim cannot be read. */
    of,
    /** @throws {ProviderError} `conflict`: the claim is gone or has changed since the read. */
    replace,
    /** Null if another claim was faster. */
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
     * Changes the current claim; reads it again if somebody else was faster.
     * @param change returns null if no change is needed any more.
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
    /** @throws {ProviderError} `conflict`: one of these machines is being installed, or may be. */
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

/** The machine's id: new for each claim, so that orders for an earlier machine find nothing. */
export const machineIdOf = ({ entryId, witness }: Pick<Claim, 'entryId' | 'witness'>): string =>
  `${entryId}.${witness.slice(0, WITNESS_DIGITS)}`;

/** Entry of a machine's id, whoever claims it; null if the id has another form. */
export const entryIdOf = (machineId: string): string | null =>
  /^(.+)\.[^.]{1,8}$/u.exec(machineId)?.[1] ?? null;

interface Looked {
  readonly all: readonly BmcEntry[];
  readonly bmcOf: (entry: BmcEntry) => Bmc;
}

/** Limit for all checks together. */
const LOOKS_MS = 15_000;

/**
 * Searches for machines with our mark but without records. If the wrong database is configured,
 * most machines are such, so those that answer in time are enough.
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
  if (signal.aborted) throw new ProviderError('aborted', 'aborted during the search for marks');
  const untold = looks.filter((isOurs) => isOurs === null).length;
  if (untold > 0) {
    log.warn({ machines: all.length, untold }, 'not all machines showed whether they carry a mark');
  }
  const marked = all.filter((_, index) => looks[index] === true);
  if (marked.length === 0) return;
  const message =
    `${marked.length} machines carry our mark, such as ${marked[0]!.id}, but no claim is recorded: ` +
    'this is not the database with their claims';
  throw new ProviderError('conflict', message);

  /** Null if the BMC does not answer. */
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
