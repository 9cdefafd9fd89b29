import { sleep } from '../../adapters/clock/port.ts';
import { parseAddress } from '../../adapters/ssh/port.ts';
import {
  Denied,
  explain,
  FleetError,
  HostKeyRejected,
  isProviderError,
  Unreachable,
} from '../../domain/errors.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { plainText } from '../../domain/texts.ts';
import type { Turn } from '../desk.ts';
import { proveHostKey } from './host-key-proof.ts';
import { withLimit } from './task.ts';
import { stopAgentCommand } from './stop-agent.ts';
import { connectTo, policyFor, providerFor, type TaskDeps } from './task.ts';

export interface EndAgentDeps extends TaskDeps {
  /** Distance of two tries, milliseconds. */
  readonly pollMs: number;
  /** Where the agent's program is on a machine. */
  readonly agentPath: string;
}

/** Whoever gives a machine back that is off or cut off is not kept waiting for it any longer. */
const TRIES = 3;
const TRY_MS = 30_000;
const CAUSE_MAX = 300;
const NOTHING = new Uint8Array(0);

/**
 * Ends the agent on a machine that lives on once it is given back: nothing of ours stays behind. The
 * evidence is a machine that proved to be this one, and on which no process of the agent runs any
 * more. One that cannot be reached is given back all the same: its agent will be refused, and ends
 * by itself.
 * @returns what became of it, for the history.
 */
export async function endAgent(
  deps: EndAgentDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<string> {
  const { agentStarted, startAttempt } = turn.work!.row;
  // An attempt may have started one that was never recorded.
  if (agentStarted === null && (startAttempt?.atMs ?? null) === null) return 'it had no agent';
  let cause = '';
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const limit = { ms: TRY_MS, what: `stop the agent of ${turn.slot}`, signal };
    try {
      await withLimit(deps.clock, limit, (within) => stopOnce(deps, turn, within));
      return 'its agent was stopped, and none runs there any more';
    } catch (error) {
      if (signal.aborted || !(error instanceof FleetError)) throw error;
      cause = plainText(explain(error), CAUSE_MAX);
      deps.log.info({ slot: turn.slot, tries, cause }, 'the agent could not be stopped yet');
      // The same would be said again.
      if (error instanceof HostKeyRejected || error instanceof Denied) break;
    } finally {
      turn.shell?.close();
    }
    if (tries < TRIES) await sleep(deps.clock, deps.pollMs, signal);
  }
  return `its agent could not be stopped (${cause}); it ends by itself once it was refused for 30 min`;
}

async function stopOnce(deps: EndAgentDeps, turn: Turn, signal: AbortSignal): Promise<void> {
  const machine = await whereIs(deps, turn, signal);
  if (!machine.address) throw new Unreachable(`${turn.slot} has no address`);
  const { host, port } = parseAddress(machine.address, deps.ssh.port);
  const hostKey = machine.hostKey ?? turn.work!.row.hostKey;
  const { remoteUser: username, sshPassword: password } = machine;
  const target = { host, port, username, hostKey, ...(password && { password }) };
  await connectTo(deps, turn, target, signal);
  await proveHostKey({
    provider: providerFor(deps, turn),
    machine,
    session: turn.shell!,
    policy: policyFor(deps, turn),
    pinned: turn.work!.row.hostKey,
    signal,
  });
  await turn.shell!.execute(stopAgentCommand(deps.agentPath), NOTHING, signal);
}

/** One that is not listed any more is where it was seen last. @throws {ProviderError} */
async function whereIs(
  deps: EndAgentDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<ProviderMachine> {
  const provider = providerFor(deps, turn);
  const { providerId, address } = turn.work!.row.provided!;
  try {
    return await provider.getMachine(providerId, { signal });
  } catch (error) {
    if (!isProviderError(error, 'not-found')) throw error;
    const seen = provider.inventory?.lastSeen(providerId);
    if (seen) return seen;
    if (address === null) throw error;
    return { ...FORGOTTEN, id: providerId, address };
  }
}

/** Of a machine that this process never saw listed only its address is known. */
const FORGOTTEN: Omit<ProviderMachine, 'id' | 'address'> = {
  ...{ reservationId: null, hostname: null, plan: '', location: null, remoteUser: 'root' },
  ...{ availability: 'PossiblyUsed', failed: false, status: null, power: 'unknown', tags: {} },
  ...{ ownership: 'ours', observedAtMs: 0 },
};
