import type { EndTurn, TurnDeps, TurnLimits, TurnOptions, Turns } from './turns.ts';
import { createTurns } from './turns.ts';

/** Turns for each of many, such as the BMCs of a rack: those of one key know nothing of another's. */
export interface TurnGroups {
  /**
   * Waits for a turn of this key, and then for one of all keys together if these are limited: who waits
   * for a key that is busy keeps nobody else from starting. As `Turns.take` otherwise.
   */
  take(key: string, options: TurnOptions): Promise<EndTurn>;
  /** As `Turns.pause`, of this key. */
  pause(key: string, delayMs: number): void;
  /** Milliseconds until a pause of this key ends; 0 without one. */
  pausedMs(key: string): number;
  /** Keys of which anything is remembered: those that wait, run, rest or are paused, and few more. */
  readonly size: number;
  /** Whoever waits is left to its signal. */
  stop(): void;
}

export interface GroupLimits {
  /** Of each key. `{ maxConcurrency: 1, gapMs: 0, restMs: 200, bulkLast: true }`: one at a time. */
  readonly each: TurnLimits;
  /** Of all keys together; without limit if absent. */
  readonly together?: TurnLimits;
}

function firstTwo<T>(map: ReadonlyMap<string, T>): [string, T][] {
  const first: [string, T][] = [];
  for (const entry of map) {
    if (first.push(entry) === 2) break;
  }
  return first;
}

/**
 * A key costs memory only while something of it is remembered: each new turn looks at the next two keys,
 * and forgets them if they are idle.
 */
export function createTurnGroups(
  limits: GroupLimits,
  deps: Pick<TurnDeps, 'clock' | 'daemons'>,
): TurnGroups {
  /** Those that were used or looked at last are at the end. */
  const groups = new Map<string, Turns>();
  const together = limits.together && createTurns(limits.together, deps);

  function groupOf(key: string): Turns {
    const group = groups.get(key) ?? createTurns(limits.each, deps);
    groups.delete(key);
    groups.set(key, group);
    forgetIdle(key);
    return group;
  }

  function forgetIdle(used: string): void {
    for (const [key, group] of firstTwo(groups)) {
      if (key === used) return;
      groups.delete(key);
      if (group.isIdle()) group.stop();
      else groups.set(key, group);
    }
  }

  return {
    async take(key, options) {
      const end = await groupOf(key).take(options);
      if (!together) return end;
      try {
        const endTogether = await together.take(options);
        return () => {
          endTogether();
          end();
        };
      } catch (error) {
        end();
        throw error;
      }
    },
    pause: (key, delayMs) => groupOf(key).pause(delayMs),
    pausedMs: (key) => groups.get(key)?.pausedMs() ?? 0,
    get size() {
      return groups.size;
    },
    stop() {
      for (const group of groups.values()) group.stop();
      together?.stop();
    },
  };
}
