import { z } from 'zod';
import { ProviderError } from '../../../domain/errors.ts';
import type { RecordOptions, Records } from '../port.ts';

/**
 * What is kept of a server that is ours, under its number: a name has no room for tags, and a creation
 * is many requests. Made before the first of them and dropped after the last of a give-back.
 */
const claimValue = z.object({
  /** Instance set that it belongs to. */
  set: z.string(),
  witness: z.string(),
  phase: z.enum(['claimed', 'rescue', 'installing', 'ready', 'failed', 'leaving', 'wiped']),
  /** What the phases `rescue` and `installing` are for. */
  order: z.enum(['create', 'reinstall']),
  tags: z.record(z.string(), z.string()),
  oldName: z.string(),
  hostname: z.string(),
  /** MD5 of the keys that the rescue system will show; none: Robot did not tell. */
  rescueKeys: z.array(z.string()).readonly(),
  /** `SHA256:…` of the host key of the installed system, when it was first seen; null: not yet. */
  systemKey: z.string().nullable(),
  /** Resets on the way to the rescue system, of all kinds, and those by the button. */
  resets: z.int().nonnegative(),
  hardResets: z.int().nonnegative(),
  /** When the last of them was asked for, epoch milliseconds; null: none was. */
  resetAtMs: z.number().nullable(),
  /** Boot id of what answered just before; null: nothing did. */
  bootBefore: z.string().nullable(),
  /** When the installation was about to be started, epoch milliseconds; null: it was not. */
  startedAtMs: z.number().nullable(),
  /** When the phase began, epoch milliseconds. */
  sinceMs: z.number(),
});
export type ClaimValue = z.output<typeof claimValue>;
export type Phase = ClaimValue['phase'];

/** A claim as it was read. */
export interface Claim extends ClaimValue {
  readonly server: number;
  readonly version: string;
}

/** All claims of one moment, by server number. */
export interface Claims {
  readonly ours: ReadonlyMap<number, Claim>;
  /** Of another instance set, or in a form that we do not know: nothing is done to these servers. */
  readonly untouchable: ReadonlySet<number>;
}

export interface ClaimStore {
  all(options: RecordOptions): Promise<Claims>;
  /** @throws {ProviderError} `conflict`: the server is somebody's. */
  of(server: number, options: RecordOptions): Promise<Claim | null>;
  /** @throws {ProviderError} `race-lost`: somebody was faster. */
  make(server: number, value: ClaimValue, options: RecordOptions): Promise<Claim>;
  /** @throws {ProviderError} `transient`, `outcome: 'unknown'`: it was changed since it was read. */
  change(claim: Claim, change: Partial<ClaimValue>, options: RecordOptions): Promise<Claim>;
  drop(claim: Claim, options: RecordOptions): Promise<void>;
}

/** Of a claim whose next reset is the first. */
export const NO_RESETS = {
  resets: 0,
  hardResets: 0,
  resetAtMs: null,
  bootBefore: null,
  startedAtMs: null,
} as const;

/** When anything was last begun about it, epoch milliseconds. */
export const lastTouchedMs = ({ sinceMs, resetAtMs, startedAtMs }: ClaimValue): number =>
  Math.max(sinceMs, resetAtMs ?? 0, startedAtMs ?? 0);

const SERVER_KEY = /^[1-9]\d*$/;

export function createClaimStore(records: Records, instanceSetId: string): ClaimStore {
  async function all(options: RecordOptions): Promise<Claims> {
    const rows = await records.all(options);
    const ours = new Map<number, Claim>();
    const untouchable = new Set<number>();
    for (const { key, value, version } of rows) {
      if (!SERVER_KEY.test(key)) continue;
      const server = Number(key);
      const read = claimValue.safeParse(value);
      if (read.success && read.data.set === instanceSetId) {
        ours.set(server, { ...read.data, server, version });
      } else untouchable.add(server);
    }
    return { ours, untouchable };
  }

  return {
    all,
    async of(server, options) {
      const { ours, untouchable } = await all(options);
      if (!untouchable.has(server)) return ours.get(server) ?? null;
      throw new ProviderError('conflict', `server ${server} is claimed by another instance set`);
    },
    async make(server, value, options) {
      try {
        const version = await records.make(String(server), value, options);
        return { ...value, server, version };
      } catch (cause) {
        if (!isConflict(cause)) throw cause;
        throw new ProviderError('race-lost', `server ${server} was claimed just now`, { cause });
      }
    },
    async change({ server, version, ...value }, change, options) {
      const changed = { ...value, ...change };
      const written = records.replace(String(server), changed, version, options);
      return { ...changed, server, version: await written.catch(overtaken(server)) };
    },
    drop: ({ server, version }, options) =>
      records.drop(String(server), version, options).catch(overtaken(server)),
  };
}

/** Another daemon does something about it: whoever asks again finds what that led to. */
const overtaken =
  (server: number) =>
  (cause: unknown): never => {
    if (!isConflict(cause)) throw cause;
    throw new ProviderError('transient', `the claim of server ${server} was changed meanwhile`, {
      cause,
      outcome: 'unknown',
    });
  };

const isConflict = (error: unknown): boolean =>
  error instanceof ProviderError && error.kind === 'conflict';
