import type { ConfigInput } from '../../../src/config.ts';
import type { Tuning } from '../../../src/daemon/tuning.ts';
import { SIM_PROVIDER, simInput, type ConfiguredWorld } from '../world.ts';

/** The scenarios' times: production's, 120 times as fast (10 minutes are 5 seconds). */
export const FAST = {
  heartbeatPeriodMs: 1_000,
  heartbeatDeadlineMs: 5_000,
  /** A freeze ends after this much calm. */
  calmMs: 5_000,
  /** Heartbeats without a gap for this long end a recovery episode. */
  ladderResetMs: 30_000,
  databaseVariable: 'SHEPHERD_SIM_DATABASE',
} as const;

/** Maximum number of concurrent agent starts, and of concurrent recoveries. */
const PARALLELISM = 50;

export type Recoverer = NonNullable<ConfigInput['recoverer']>;

/** The configuration of a scenario's daemon. */
export function fastInput(world: ConfiguredWorld, recoverer: Recoverer): ConfigInput {
  const input = simInput(world);
  return {
    ...input,
    // Longer than the other times, because the computer may be busy.
    session: { interval: '10s' },
    database: { url: `\${${FAST.databaseVariable}}` },
    providers: {
      [SIM_PROVIDER]: { ...input.providers[SIM_PROVIDER]!, apiRate: '0ms', parallelism: 32 },
    },
    provisioner: {
      ...input.provisioner,
      deviceCreationRate: '1ms',
      reservationChunkSize: world.machines,
      concurrentCreations: 100,
    },
    agent: {
      heartbeatPeriod: `${FAST.heartbeatPeriodMs}ms`,
      heartbeatDeadline: `${FAST.heartbeatDeadlineMs}ms`,
      firstHeartbeatDeadline: '20s',
    },
    initializer: {
      loopParallelism: PARALLELISM,
      backoff: { initial: '1s', exponent: 1.2, maximum: '5s' },
    },
    recoverer: { loopParallelism: PARALLELISM, pollInterval: '250ms', ...recoverer },
    guard: { newFor: '10s', calmFor: `${FAST.calmMs}ms` },
    mirror: { scanInterval: '5s', listInterval: '2s' },
    statistics: { interval: '1s' },
  };
}

/** Its inner periods. */
export const fastTuning: Partial<Tuning> = {
  ladderResetMs: FAST.ladderResetMs,
  askAgainMs: 1_000,
  setbackMaxMs: 500,
  sweepMs: 2_000,
  scanGapMs: 100,
  sessionRetryMs: 200,
  headStartMs: 200,
  assessMs: 300,
  ingestGapMs: 3_000,
};
