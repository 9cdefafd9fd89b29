/** From what is written always to what is written seldom. */
export const LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type Level = (typeof LEVELS)[number];

/** A level for a while, asked for by somebody. */
export interface LevelWish {
  readonly level: Level;
  /** Such as `recovery`; null: all. */
  readonly component: string | null;
  readonly forMs: number;
  /** Who asks, as in the audit. */
  readonly by: string;
}

/** What a daemon writes into its log. */
export interface LogControl {
  readonly usual: Level;
  changes(): readonly {
    readonly level: Level;
    readonly component: string | null;
    readonly untilMs: number;
  }[];
  /** Writes it into the audit, too. Never fails: a log is wanted most when the database is away. */
  set(wish: LevelWish): Promise<void>;
}
