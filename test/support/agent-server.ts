import { createHeartbeatSink } from '../../src/adapters/agents/agent-server-thread.ts';
import { startAgentFront, type AgentFrontOptions } from '../../src/adapters/agents/front-thread.ts';
import type { AgentServer } from '../../src/adapters/agents/port.ts';

export type AgentServerOptions = AgentFrontOptions;

/** The agents' public listener in this thread, without the daemon thread's messages. */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const { store } = options;
  const sink = createHeartbeatSink(options);
  const front = await startAgentFront({
    ...options,
    store: {
      recordHeartbeats: sink.record,
      ...(store.withoutHardware ? { withoutHardware: () => store.withoutHardware!() } : {}),
    },
  });
  return {
    address: front.address,
    heard$: sink.heard$,
    isTakingIn: () => front.isOpen() && sink.isStoring(),
    present: front.present,
    async close(graceMs) {
      await front.close(graceMs);
      sink.close();
    },
  };
}
