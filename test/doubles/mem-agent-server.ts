import { Unreachable } from '../../src/domain/errors.ts';
import type {
  HeartbeatOutcome,
  HeartbeatRecord,
  HeartbeatStore,
} from '../../src/domain/heartbeat.ts';
import { silentLog } from '../../src/adapters/log/port.ts';
import type { Log } from '../../src/adapters/log/port.ts';
import { createIntake } from '../../src/adapters/agents/heartbeat-service.ts';
import type { BatchOptions, IntakeOptions } from '../../src/adapters/agents/heartbeat-service.ts';
import { defaultLimits } from '../../src/adapters/agents/limits.ts';
import type { AgentServer } from '../../src/adapters/agents/port.ts';
import { createHeartbeatSink } from '../../src/adapters/agents/agent-server-thread.ts';

/** An agent server without network: simulated agents call it directly. */
export interface MemAgentServer extends AgentServer {
  /**
   * Delivers one heartbeat. Answers and throws as {Intake.record}. @throws {Unreachable} not ready.
   */
  report(record: HeartbeatRecord): Promise<HeartbeatOutcome>;
}

const BATCH: BatchOptions = { gapMs: 0, enough: 500, max: 500 };

export interface MemAgentServerOptions
  extends Pick<IntakeOptions, 'clock'>, Partial<Pick<IntakeOptions, 'batch' | 'limits'>> {
  readonly store: HeartbeatStore;
  /** Default: silent. */
  readonly log?: Log;
  /** While it returns false, calls fail. Default: always true. */
  readonly isReady?: () => boolean;
}

/** An agent server without network, as a daemon's port opens it. It has no certificate to renew. */
export const openMemAgents = (options: MemAgentServerOptions) => ({
  server: createMemAgentServer(options),
  caCertificate: () => new Uint8Array(0),
  notAfterMs: () => null,
  renewCertificate: async () => undefined,
});

/** The real server's path into the store, starting after TLS authentication. */
export function createMemAgentServer({
  isReady = () => true,
  store,
  ...options
}: MemAgentServerOptions): MemAgentServer {
  const sink = createHeartbeatSink({ store, log: silentLog, ...options });
  const intake = createIntake({
    record: sink.record,
    batch: BATCH,
    limits: defaultLimits,
    ...options,
  });
  let closed = false;
  return {
    address: 'memory:0',
    heard$: sink.heard$,
    isTakingIn: () => !closed && isReady() && sink.isStoring(),
    // No connection could present it.
    present: () => undefined,
    async report(record) {
      if (!isReady()) throw new Unreachable('the agent server has no live session');
      return intake.record(record);
    },
    async close() {
      closed = true;
      await intake.close();
      sink.close();
    },
  };
}
