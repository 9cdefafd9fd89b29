import { fromPromise } from 'xstate';
import { agentStartServices, type AgentStartDeps } from '../../src/actors/tasks/agent-start.ts';
import type { TaskDeps } from '../../src/actors/tasks/task.ts';
import { createTakeoverProtocol } from '../../src/adapters/agents/takeover-protocol.ts';
import { AGENT_START_BACKOFF } from '../../src/domain/backoff.ts';
import type { HostKeyPolicy } from '../../src/domain/policy.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import type { Job } from '../../src/machines/task.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../src/wire/codec.ts';
import type { TaskStand } from './task-stand.ts';

export const AGENT_PATH = '/root/agent';

/** The answer of an agent that starts well. */
export const agentAnswer = (stdin: Buffer) => {
  const initMessage = takeoverInitCodec.decode(stdin);
  const success = { initMessage, key: Buffer.alloc(32, 7) };
  return { stdout: takeoverResponseCodec.encode({ success }) };
};

/** The shipped services of an agent start. */
export const startServices = (
  stand: TaskStand,
  policy?: HostKeyPolicy,
  change: Partial<TaskDeps & Pick<AgentStartDeps, 'agent'>> = {},
) =>
  agentStartServices({
    ...stand.deps(policy),
    agent: {
      file: { content: Buffer.from('agent'), sha256: '', mode: 0o755 },
      targetPath: AGENT_PATH,
    },
    ...change,
    protocol: createTakeoverProtocol({
      endpoint: '192.0.2.100:7000',
      caCertificate: new Uint8Array(0),
    }),
    backoff: AGENT_START_BACKOFF,
  });

/** Runs one whole agent start. */
export function startAgent(stand: TaskStand, services = startServices(stand)) {
  const reread = fromPromise<MachineView | null, Job>(async () => null);
  return stand.runTask('agentStart', agentStart.provide({ actors: { ...services, reread } }));
}
