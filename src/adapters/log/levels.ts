import type { Clock } from '../clock/port.ts';

/** From what is written always to what is written seldom. */
export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A level for a while. */
export interface LevelChange {
  readonly level: LogLevel;
  /** Such as `recovery`; null: all. */
  readonly component: string | null;
  /** When it ends by itself, epoch milliseconds. */
  readonly untilMs: number;
}

/** From which severity on lines are written, of all and of single components. */
export interface Levels {
  writes(component: string, level: LogLevel): boolean;
  /** Takes the place of what was said of the same component, or of all. */
  set(change: LevelChange): void;
  /** What holds by now beside the configuration. */
  changes(): readonly LevelChange[];
  /** As it is configured. */
  readonly usual: LogLevel;
}

export function createLevels(usual: LogLevel, clock: Pick<Clock, 'now'>): Levels {
  const changes = new Map<string | null, LevelChange>();
  const current = (component: string | null): LevelChange | undefined => {
    const change = changes.get(component);
    if (change === undefined || change.untilMs > clock.now()) return change;
    changes.delete(component);
    return undefined;
  };
  return {
    usual,
    writes(component, level) {
      const least =
        changes.size === 0 ? usual : ((current(component) ?? current(null))?.level ?? usual);
      return LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(least);
    },
    set: (change) => void changes.set(change.component, change),
    changes: () => [...changes.keys()].flatMap((component) => current(component) ?? []),
  };
}
