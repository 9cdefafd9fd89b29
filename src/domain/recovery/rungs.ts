import type { Rung, StandingRung } from './rung-names.ts';

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
  /** What it does, as an order, under way, and when it is done. */
  readonly words: { readonly order: string; readonly doing: string; readonly done: string };
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
    words: { order: 'reboot the machine', doing: 'rebooting it', done: 'it was rebooted' },
  },
  resettingBmc: {
    means: 'resetController',
    boots: false,
    erases: false,
    attempts: 1,
    patienceMs: 10 * MINUTE_MS,
    words: {
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
    words: { order: 'reinstall it', doing: 'reinstalling it', done: 'it was installed anew' },
  },
};
