import type { Slot } from '../ids.ts';
import type { SlotFacts } from '../machine.ts';

/** How often a rung is tried in one episode, and how long its evidence is waited for. */
export interface RungPolicy {
  /** 0: the rung is left out. */
  readonly attempts: number;
  readonly patienceMs: number;
}

/** What a provider can be asked for. */
export interface LadderMeans {
  readonly reboot: boolean;
  readonly power: boolean;
  readonly reinstall: boolean;
  readonly resetController?: boolean;
}

/** All that is said of a rung in one place; what it does is its slot's and the chart's. */
interface RungFacts extends RungPolicy {
  /** What its provider must be able to do; null: nothing, the machine itself is asked. */
  readonly means: keyof LadderMeans | null;
  /** It is proved by a boot that came after it. */
  readonly boots: boolean;
  /** All on the machine's disks is lost: only done where a configuration allows it by name. */
  readonly erases: boolean;
  /** What it does: as a thing, as an order, under way, and when it is done. */
  readonly words: Readonly<Record<'noun' | 'order' | 'doing' | 'done', string>>;
}

/** An episode can stand on it; any other is taken beside the ladder, and recovers no machine. */
export const isStanding = (rung: Rung): rung is StandingRung => rung !== 'resettingBmc';

/** The machine stops serving for it: it needs a permit of the recovery budget. */
export const interrupts = (rung: Rung): boolean => rung !== 'restartingAgent';

const MINUTE_MS = 60_000;

export const RUNG_FACTS: Readonly<Record<Rung, RungFacts>> = {
  restartingAgent: {
    means: null,
    boots: false,
    erases: false,
    attempts: 2,
    patienceMs: MINUTE_MS,
    words: {
      noun: 'restart of its agent',
      order: 'stop the agent over SSH',
      doing: 'restarting its agent',
      done: 'its agent was restarted',
    },
  },
  rebooting: {
    means: 'reboot',
    boots: true,
    erases: false,
    attempts: 3,
    patienceMs: 15 * MINUTE_MS,
    words: {
      noun: 'reboot',
      order: 'reboot the machine',
      doing: 'rebooting it',
      done: 'it was rebooted',
    },
  },
  resettingBmc: {
    means: 'resetController',
    boots: false,
    erases: false,
    attempts: 1,
    patienceMs: 10 * MINUTE_MS,
    words: {
      noun: 'restart of its controller',
      order: 'restart its hanging controller',
      doing: 'restarting its controller',
      done: 'its controller was restarted',
    },
  },
  powerCycling: {
    means: 'power',
    boots: true,
    erases: false,
    attempts: 2,
    patienceMs: 15 * MINUTE_MS,
    words: {
      noun: 'power cycle',
      order: 'switch it off and on',
      doing: 'switching it off and on',
      done: 'its power was switched off and on',
    },
  },
  reinstalling: {
    means: 'reinstall',
    boots: false,
    erases: true,
    attempts: 2,
    patienceMs: 45 * MINUTE_MS,
    words: {
      noun: 'reinstallation',
      order: 'reinstall it',
      doing: 'reinstalling it',
      done: 'it was installed anew',
    },
  },
};

/** Those on which an episode can stand: what its row knows. */
export const STANDING_RUNGS = [
  'restartingAgent',
  'rebooting',
  'powerCycling',
  'reinstalling',
] as const;
export type StandingRung = (typeof STANDING_RUNGS)[number];
/** With those that are taken beside the ladder, which stays where it is: they recover no machine. */
export const RUNGS = [
  'restartingAgent',
  'rebooting',
  'resettingBmc',
  'powerCycling',
  'reinstalling',
] as const;
export type Rung = (typeof RUNGS)[number];
export const isRung = (text: string | null): text is Rung => RUNGS.some((rung) => rung === text);

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
