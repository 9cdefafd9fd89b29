import { createCallbackClient } from '../../../src/agent/callback-client.ts';
import { measureRate } from '../measure.ts';

/** Agents in a separate process: they open their connections first, and then call on command. */
export type LoadRequest =
  | {
      readonly kind: 'open';
      readonly port: number;
      /** PEM. */
      readonly trust: string;
      readonly callers: readonly Caller[];
    }
  | { readonly kind: 'call'; readonly warmMs: number; readonly spanMs: number };

export interface Caller {
  readonly machineId: string;
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
}

const live = new AbortController().signal;
let agents: (() => Promise<unknown>)[] = [];

process.on('message', (request) => {
  void answer(request as LoadRequest).then((told) => process.send!(told));
});
process.once('disconnect', () => process.exit());

async function answer(request: LoadRequest): Promise<object> {
  if (request.kind === 'open') {
    agents = request.callers.map((caller) => agentOf(caller, request));
    for (const heartbeat of agents) await heartbeat();
    return {};
  }
  let all = 0;
  const { perSecond } = await measureRate({
    ...request,
    callers: agents.length,
    once: async (caller) => {
      await agents[caller]!();
      all += 1;
      return true;
    },
  });
  return { all, perSecond };
}

function agentOf(
  { machineId, ...identity }: Caller,
  { port, trust }: Extract<LoadRequest, { kind: 'open' }>,
) {
  const endpoint = { host: '127.0.0.1', port };
  const client = createCallbackClient({ endpoint, identity, trust, callTimeoutMs: 30_000 });
  return () => client.heartbeat({ machineId, bootId: 'bench', uptimeSeconds: 1n }, live);
}
