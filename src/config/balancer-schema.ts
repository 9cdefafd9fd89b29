import { z } from 'zod';
import { BALANCER_DRIVERS } from '../adapters/balancer/drivers.ts';
import type { BalancerDriver } from '../adapters/balancer/port.ts';
import * as leaf from '../settings/leaves.ts';
import type { Surroundings } from '../settings/secret.ts';

type DriverKeys = Readonly<Record<string, unknown>>;
/** One configured balancer: its driver, and the keys of that. */
export type BalancerSettings = { readonly driver: string } & DriverKeys;

/** What a pool, a balancer and a provider are named: part of names that others must be able to hold. */
const NAME = /^[a-z][a-z0-9-]{0,30}$/;
export const nameOf = (what: string) =>
  z
    .string()
    .regex(NAME, {
      error: `is no name for a ${what}; give a-z first, then a-z, 0-9 or -, at most 31 in all`,
    });

function settingsOf(driver: BalancerDriver, around: Surroundings): z.ZodObject {
  const own = driver.settings(around);
  if ('driver' in own.shape) throw new Error(`driver ${driver.name}: driver is no key of its own`);
  return own.safeExtend({ driver: leaf.choice([driver.name], 'Kind of load balancer.') });
}

/** The part of a configured balancer that is its driver's. */
export const ownBalancerSettingsOf = ({ driver: _, ...own }: BalancerSettings): DriverKeys => own;

function balancerSchema(around: Surroundings, drivers: ReadonlyMap<string, BalancerDriver>) {
  const variants = [...drivers.values()].map((driver) => settingsOf(driver, around));
  const names = [...drivers.keys()].join(', ');
  const union = z.discriminatedUnion('driver', variants as [z.ZodObject, ...z.ZodObject[]], {
    error: () => `names no driver that exists; give one of ${names}`,
  });
  return union as unknown as z.ZodType<BalancerSettings, BalancerSettings>;
}

/** All balancers, by name. No two of them may be one: what one of them writes the other would undo. */
export const balancersSchema = (around: Surroundings, drivers = BALANCER_DRIVERS) =>
  z
    .record(nameOf('balancer'), balancerSchema(around, drivers), {
      error: 'is not a section; give balancers by their names',
    })
    .superRefine((balancers, context) => {
      for (const { name, other, key } of twins(balancers, drivers)) {
        const message = `leads to the balancer that balancers.${other}.${key} leads to; keep one of them, and name it in every pool`;
        context.addIssue({ code: 'custom', path: [name, key], message });
      }
    })
    .prefault({});

/** Pairs of balancers that are one and the same, and by which key. */
function twins(
  balancers: Readonly<Record<string, BalancerSettings>>,
  drivers: ReadonlyMap<string, BalancerDriver>,
) {
  const entries = Object.entries(balancers);
  return entries.flatMap(([name, one], index) =>
    entries.slice(0, index).flatMap(([other, before]) => {
      if (one.driver !== before.driver) return [];
      const [own, others] = [ownBalancerSettingsOf(one), ownBalancerSettingsOf(before)];
      const key = drivers.get(one.driver)?.overlaps?.(own, others) ?? null;
      return key === null ? [] : [{ name, other, key }];
    }),
  );
}
