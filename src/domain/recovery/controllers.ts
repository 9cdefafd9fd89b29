import type { Slot } from '../ids.ts';
import type { SlotFacts } from '../machine.ts';

/**
 * What switches a machine, where that is a computer of its own (a BMC): it may hang while the machine
 * runs on. When it may be restarted, which is no recovery of any machine.
 */

/** Each controller at most once in this time. */
export const CONTROLLER_RESET_MS = 24 * 3_600_000;
/** More than so many, or than this share of all, that hang at once: then it is the network. */
const HANGING_MAX = 5;
const HANGING_PERCENT_MAX = 5;

/** One alone is never so many, however few there are. */
export const isNetwork = ({ hanging, of }: { readonly hanging: number; readonly of: number }) =>
  hanging > 1 && (hanging > HANGING_MAX || hanging * 100 > of * HANGING_PERCENT_MAX);

/**
 * The controller of the machine on a slot, if its provider showed last that it hangs, and not that so
 * many of that provider's do that it must be something else; else null.
 */
export function hungControllerOf(slot: Slot, facts: ReadonlyMap<Slot, SlotFacts>): string | null {
  const { provider, listed } = facts.get(slot) ?? {};
  if (!listed?.controller?.hangs) return null;
  const hangs = new Map<string, boolean>();
  for (const each of facts.values()) {
    const controller = each.provider === provider ? each.listed?.controller : undefined;
    if (controller) hangs.set(controller.id, controller.hangs);
  }
  const hanging = [...hangs.values()].filter(Boolean).length;
  return isNetwork({ hanging, of: hangs.size }) ? null : listed.controller.id;
}
