import { z } from 'zod';
import * as leaf from '../settings/leaves.ts';
import type { Surroundings } from '../settings/secret.ts';

export const notASection = () => 'is not a section; give key: value lines';

export const section = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, { error: notASection });

/** An optional section: absent, it has its defaults, and its required keys are reported. */
export const filledSection = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  section(shape).prefault({} as never);

/** Names of pools, balancers and providers, which become part of names elsewhere. */
export const nameOf = (what: string) =>
  z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,30}$/, {
      error: `is not a valid name for a ${what}; give a-z first, then a-z, 0-9 or -, at most 31 in all`,
    });

export type DriverKeys = Readonly<Record<string, unknown>>;
/** A driver's section: the driver, common keys, and the driver's keys. */
export type Driven = { readonly driver: string } & DriverKeys;

interface AnyDriver {
  readonly name: string;
  settings(around: Surroundings): z.ZodObject;
  overlaps?(one: never, other: never): string | null;
}
type Drivers = ReadonlyMap<string, AnyDriver>;

/** The keys of one driver's sections. @throws {Error} a driver's key repeats a common one. */
export function settingsOf(
  { name, settings }: Pick<AnyDriver, 'name' | 'settings'>,
  around: Surroundings,
  { kind, common }: { readonly kind: string; readonly common: z.core.$ZodLooseShape },
): z.ZodObject {
  const own = settings(around);
  const shared = { driver: leaf.choice([name], `Kind of ${kind}.`), ...common };
  const clash = Object.keys(shared).find((key) => key in own.shape);
  if (clash) throw new Error(`driver ${name}: ${clash} is no key of its own`);
  return own.safeExtend(shared);
}

/** One section that names its driver. @param instead advice for an unknown driver. */
export function drivenSchema(
  variants: readonly z.ZodObject[],
  drivers: Drivers,
  instead: (driver: unknown) => string = () => '',
) {
  const names = [...drivers.keys()].join(', ');
  return z.discriminatedUnion('driver', variants as [z.ZodObject, ...z.ZodObject[]], {
    error: ({ input }) => {
      const { driver } = input as { readonly driver?: unknown };
      return `names an unknown driver; give one of ${names}${instead(driver)}`;
    },
  });
}

/**
 * No two sections may share a target, because their writes would undo each other.
 * @param told the fault of a key with the same target as another section's key.
 */
export const apart =
  (drivers: Drivers, told: (other: string, key: string) => string, ownOf = (all: Driven) => all) =>
  (all: Readonly<Record<string, Driven>>, context: z.RefinementCtx): void => {
    const entries = Object.entries(all);
    for (const [index, [name, one]] of entries.entries()) {
      for (const [other, before] of entries.slice(0, index)) {
        if (one.driver !== before.driver) continue;
        const overlaps = drivers.get(one.driver)?.overlaps;
        const key = overlaps?.(ownOf(one) as never, ownOf(before) as never) ?? null;
        if (key === null) continue;
        context.addIssue({ code: 'custom', path: [name, key], message: told(other, key) });
      }
    }
  };
