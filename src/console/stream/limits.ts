export interface StreamLimits {
  /** Changes are gathered this long; of one machine only the latest is told. */
  readonly batchMs: number;
  /** A message at least this often, so that both ends notice a dead connection. */
  readonly tickMs: number;
  /** When machines of a window were heard from is told no more often than this. */
  readonly heardMs: number;
  /** A stream ends after this, so that access is looked at again and readers spread over daemons. */
  readonly lifeMs: number;
  /** What a reader may have unread before it is dropped. */
  readonly lagMaxBytes: number;
  /** What each `batchMs` adds to what a reader may be sent: the rate of a stream in a storm. */
  readonly creditBytes: number;
  /** What it saves up at rest, and is sent at once. */
  readonly creditMaxBytes: number;
  /** How long a reader waits before it comes back. */
  readonly retryMs: number;
  readonly readersMax: number;
  /** Of one person; of those who are not known any number. */
  readonly readersOfOneMax: number;
}

export const STREAM_LIMITS: StreamLimits = {
  batchMs: 250,
  tickMs: 10_000,
  heardMs: 5_000,
  lifeMs: 30 * 60_000,
  lagMaxBytes: 1024 * 1024,
  creditBytes: 4 * 1024,
  creditMaxBytes: 128 * 1024,
  retryMs: 1_000,
  readersMax: 128,
  readersOfOneMax: 4,
};
