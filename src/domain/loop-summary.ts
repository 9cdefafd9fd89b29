/** What a daemon does again and again, and how it ended last. Times are epoch ms of the database clock. */
export interface LoopSummary {
  /** What it is, and for what: `listing equinix`. */
  readonly name: string;
  /** Between two runs, when all goes well. */
  readonly periodMs: number;
  /** Null: not once since the daemon started. */
  readonly lastSuccessAtMs: number | null;
  /** Since the last success; null: none. */
  readonly failure: {
    readonly count: number;
    readonly lastAtMs: number;
    readonly cause: string;
  } | null;
  /** The job that only one daemon has at a time; null: each does it. */
  readonly job: string | null;
}
