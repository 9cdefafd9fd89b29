import type { Slot } from '../ids.ts';
import type { LackedMeans } from '../listed.ts';
import type { MachineRow, SlotFacts } from '../machine.ts';
import { capabilitiesFor, type Adopting } from '../provisioning/adoption.ts';

/** How often a rung is tried in one episode, and how long its evidence is awaited. */
export interface RungPolicy {
  /** 0: the rung is skipped. */
  readonly attempts: number;
  readonly patienceMs: number;
}

/** Recovery actions that a provider supports. */
export interface LadderMeans {
  readonly reboot: boolean;
  readonly power: boolean;
  readonly reinstall: boolean;
  readonly resetController?: boolean;
}

/** The means for one machine. */
export type MachineMeans = LadderMeans & LackedMeans;

/**
 * What a provider can do to one of its machines.
 * @param listed its entry in the last listing; absent: nothing is known of it.
 */
export const meansOf = <Means extends LadderMeans>(
  all: Means & Adopting<Means>,
  {
    row,
    listed,
  }: {
    readonly row: Pick<MachineRow, 'provided'> | null | undefined;
    readonly listed: LackedMeans | null | undefined;
  },
): Means & MachineMeans => ({
  ...capabilitiesFor(all, row?.provided),
  ...(listed?.lacks && { lacks: listed.lacks }),
});

/** Why the provider or the machine lacks a means; null: it is there. */
export function lackOf(
  needed: keyof LadderMeans | null,
  means: MachineMeans,
): 'provider' | 'machine' | null {
  if (needed === null) return null;
  if (!means[needed]) return 'provider';
  return means.lacks?.includes(needed) ? 'machine' : null;
}

/** The facts about a rung in one place; its slot and the chart define its behaviour. */
interface RungFacts extends RungPolicy {
  /** The required capability of the provider; null: none, the rung addresses the machine itself. */
  readonly means: keyof LadderMeans | null;
  /** A later boot proves the rung's success. */
  readonly boots: boolean;
  /** The rung loses all data on the machine's disks; a configuration must enable it by name. */
  readonly erases: boolean;
  /** Its action as a noun, as an order, in progress, and done. */
  readonly words: Readonly<Record<'noun' | 'order' | 'doing' | 'done', string>>;
}

/** A rung where an episode can stand; other rungs are side steps and recover no machine. */
export const isStanding = (rung: Rung): rung is StandingRung => rung !== 'resettingBmc';

/** The rung interrupts the machine's service: it needs a recovery permit. */
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

/** Rungs where an episode can stand; its row stores them. */
export const STANDING_RUNGS = [
  'restartingAgent',
  'rebooting',
  'powerCycling',
  'reinstalling',
] as const;
export type StandingRung = (typeof STANDING_RUNGS)[number];
/** All rungs, including side steps, which do not move the ladder and recover no machine. */
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
 * When a controller may be restarted. A controller (BMC) is a computer of its own that switches
 * machines; it may hang while they run. Its restart recovers no machine.
 */

/** Each controller is restarted at most once in this time. */
export const CONTROLLER_RESET_MS = 24 * 3_600_000;
/** If more controllers than this number or share hang at once, the network is the cause. */
const HANGING_MAX = 5;
const HANGING_PERCENT_MAX = 5;

/** A single hanging controller never counts as a network fault. */
export const isNetwork = ({ hanging, of }: { readonly hanging: number; readonly of: number }) =>
  hanging > 1 && (hanging > HANGING_MAX || hanging * 100 > of * HANGING_PERCENT_MAX);

/**
 * The controller of a slot's machine if its provider's last listing shows that it hangs. Null
 * otherwise, and if too many controllers of the provider hang, because then the cause is elsewhere.
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
