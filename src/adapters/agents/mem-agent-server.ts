import { Unreachable } from '../../domain/errors.ts';
import type { HeartbeatOutcome, HeartbeatRecord } from '../../domain/heartbeat.ts';
import { silentLog } from '../log/port.ts';
import { createIntake } from './intake.ts';
import type { BatchOptions, IntakeOptions } from './intake.ts';
import { defaultLimits } from './limits.ts';
import type { AgentServer } from './port.ts';

/** An agent server without network: simulated agents call it directly. */
export interface MemAgentServer extends AgentServer {
  /** One heartbeat. Answers and throws as {Intake.record}. @throws {Unreachable} not ready. */
  report(record: HeartbeatRecord): Promise<HeartbeatOutcome>;
}

const BATCH: BatchOptions = { maxMs: 0, max: 500 };

export interface MemAgentServerOptions
  extends Pick<IntakeOptions, 'store' | 'clock'>, Partial<Omit<IntakeOptions, 'store' | 'clock'>> {
  /** While it answers false, calls fail. Default: always true. */
  readonly isReady?: () => boolean;
}

/** The same way into the store as the real server's, from after authentication by TLS. */
export function createMemAgentServer({
  isReady = () => true,
  ...options
}: MemAgentServerOptions): MemAgentServer {
  const intake = createIntake({ log: silentLog, batch: BATCH, limits: defaultLimits, ...options });
  let closed = false;
  return {
    address: 'memory:0',
    heard$: intake.heard$,
    isTakingIn: () => !closed && isReady() && intake.isStoring(),
    // There is no connection that could show it.
    present: () => undefined,
    async report(record) {
      if (!isReady()) throw new Unreachable('the agent server has no live session');
      return intake.record(record);
    },
    close: () => {
      closed = true;
      return intake.close();
    },
  };
}
