import { z } from 'zod';
import type { Timings } from '../time/timings.ts';

/** Behaviours of the real service that were seen both ways, or that help a test. */
export interface Knobs {
  /** Put before every `href`. The real service sends none; its old examples show `/metal/v1`. */
  readonly hrefPrefix: string;
  /** Upper limit of `per_page`. */
  readonly maxPerPage: number;
  /** A list without `sort_by` comes in another order at every request. */
  readonly shuffleUnsorted: boolean;
  /** A create on a reservation must name a metro or a facility too. */
  readonly strictLocation: boolean;
  /** Whether a device can still be read between its delete and its end. */
  readonly deleteVisibility: 'deprovisioning' | 'immediate404';
  /** What a failed device without reservation answers; null: it stays readable. */
  readonly onDemandVanish: 403 | 404 | null;
  /** How many devices of a plan a facility has on demand; null: no end of them. */
  readonly onDemandStock: number | null;
  /** Leave every null field out of the answers, for strict generated clients. */
  readonly omitNulls: boolean;
}

/** What the emulator does when nobody turns a knob. */
export const DEFAULT_KNOBS: Knobs = {
  hrefPrefix: '',
  maxPerPage: 1_000,
  shuffleUnsorted: false,
  strictLocation: false,
  deleteVisibility: 'deprovisioning',
  onDemandVanish: null,
  onDemandStock: null,
  omitNulls: false,
};

/** Knobs as a world description or an administrator names them. */
export const knobsSchema = z
  .strictObject({
    hrefPrefix: z.string().regex(/^(\/[^/\s]+)*$/, 'begins with "/" and does not end with it'),
    maxPerPage: z.int().min(1),
    shuffleUnsorted: z.boolean(),
    strictLocation: z.boolean(),
    deleteVisibility: z.enum(['deprovisioning', 'immediate404']),
    onDemandVanish: z.union([z.literal(403), z.literal(404), z.null()]),
    onDemandStock: z.union([z.int().min(0), z.null()]),
    omitNulls: z.boolean(),
  } satisfies Record<keyof Knobs, z.ZodType>)
  .partial();

const ms = z.number().min(0);

/** Times in milliseconds, whatever the profile. */
export const timingsSchema = z
  .strictObject({
    queuedMs: ms,
    provisioningMs: ms,
    addressesMs: ms,
    postProvisioningMs: ms,
    failMs: ms,
    deprovisioningMs: ms,
    tombstoneMs: ms,
    cleaningMs: ms,
    poweringOffMs: ms,
    poweringOnMs: ms,
    rebootDownMs: ms,
    rebootUpMs: ms,
    reinstallMs: ms,
    reinstallFastMs: ms,
  } satisfies Record<keyof Timings, z.ZodType>)
  .partial();

/** Only what was given. */
export const given = <T extends object>(some: T) =>
  Object.fromEntries(Object.entries(some).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
