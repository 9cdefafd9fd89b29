import { setup } from 'xstate';
import { promiseService } from './services.ts';
import {
  beginTask,
  elseRefused,
  endOfTask,
  resultOf,
  step,
  taskActions,
  taskActors,
  taskTypes,
  onTo,
  thenDone,
  type Job,
} from './task.ts';

/** Results that the steps of an agent start pass on. */
export interface AgentStartResults {
  /** The host proved to be the machine; only now may our code run there. */
  readonly trust: {
    readonly bootId: string;
    /** The host key to pin; null: none, or already pinned. */
    readonly newHostKey: string | null;
  };
  /** The agent's answer. Its public key is in hexadecimal. */
  readonly agent: { readonly publicKey: string; readonly warnings: readonly string[] };
}
type AgentStartPart<Part extends keyof AgentStartResults> = Pick<AgentStartResults, Part>;

/**
 * Starts the agent on one machine: claims it, connects by SSH, verifies the host, uploads the
 * agent, runs it and records its key. The open connection and the claim live beside the chart,
 * under the slot; the chart knows only the due step and the meaning of failures. Every step has a
 * time limit, and all of them end with the session.
 */
export const agentStart = setup({
  types: taskTypes<AgentStartResults>(),
  actors: {
    ...taskActors,
    claimStart: promiseService<void, Job>('claimStart'),
    connect: promiseService<void, Job>('connect'),
    verifyHost: promiseService<AgentStartPart<'trust'>, Job>('verifyHost'),
    upload: promiseService<void, Job & AgentStartPart<'trust'>>('upload'),
    execute: promiseService<AgentStartPart<'agent'>, Job & AgentStartPart<'trust'>>('execute'),
    recordStart: promiseService<void, Job & AgentStartPart<'trust' | 'agent'>>('recordStart'),
  },
  actions: taskActions<AgentStartResults>(),
}).createMachine({
  id: 'agentStart',
  context: beginTask<AgentStartResults>,
  output: resultOf,
  options: { maxIterations: 1000 },
  initial: 'claiming',
  states: {
    claiming: step(
      'claimStart',
      'Claims the machine in the database, so that no other daemon works on it.',
      onTo('connecting'),
      elseRefused,
    ),
    connecting: step(
      'connect',
      "Looks up the machine's address and opens an SSH connection.",
      onTo('verifying'),
    ),
    verifying: step(
      'verifyHost',
      'Checks the host key. No command runs before the key is trusted.',
      onTo('uploading'),
    ),
    uploading: step(
      'upload',
      'Copies the agent to the machine, unless the same file is already there.',
      onTo('executing'),
    ),
    executing: step(
      'execute',
      'Notes the attempt in the database, starts the agent and reads its answer.',
      onTo('recording'),
    ),
    recording: step(
      'recordStart',
      "Stores the agent's key and ends the work in one transaction.",
      thenDone,
    ),
    ...endOfTask,
  },
});
