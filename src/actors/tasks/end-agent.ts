import { sleep, withTimeLimit } from '../../adapters/clock/port.ts';
import {
  Denied,
  FleetError,
  HostKeyRejected,
  explain,
  isProviderError,
} from '../../domain/errors.ts';
import type { ProviderMachine } from '../../domain/machine.ts';
import { NO_TRAITS } from '../../domain/traits.ts';
import { plainText } from '../../lib/texts.ts';
import { connect, NOTHING, proveHost, type Claimed, type TaskDeps } from './task.ts';

export interface EndAgentDeps extends TaskDeps {
  /** Interval between attempts, milliseconds. */
  readonly pollMs: number;
  /** Path of the agent's program on a machine. */
  readonly agentPath: string;
}

/** Limits for an unreachable machine; afterwards it is given back nevertheless. */
const TRIES = 3;
const TRY_MS = 30_000;
const CAUSE_MAX = 300;

/**
 * Stops the agent on a machine that outlives its return, so that nothing of ours stays behind.
 * Evidence is a proved machine without any agent process. An unreachable machine is given back
 * nevertheless: its agent will be refused, and ends by itself.
 * @returns the result, for the history.
 */
export async function endAgent(claimed: Claimed<EndAgentDeps>): Promise<string> {
  const { deps, slot, turn, row, signal } = claimed;
  // An attempt may have started an agent that was never recorded.
  if (row.agentStarted === null && (row.startAttempt?.atMs ?? null) === null) {
    return 'it had no agent';
  }
  let cause = '';
  for (let tries = 1; tries <= TRIES; tries += 1) {
    const limit = { ms: TRY_MS, what: `stop the agent of ${slot}`, signal };
    try {
      await withTimeLimit(deps.clock, limit, (within) => stopOnce({ ...claimed, signal: within }));
      return 'its agent was stopped, and none runs there any more';
    } catch (error) {
      if (signal.aborted || !(error instanceof FleetError)) throw error;
      cause = plainText(explain(error), CAUSE_MAX);
      deps.log.info({ slot, tries, cause }, 'the agent could not be stopped yet');
      // A retry would fail in the same way.
      if (error instanceof HostKeyRejected || error instanceof Denied) break;
    } finally {
      turn.held.shell?.close();
    }
    if (tries < TRIES) await sleep(deps.clock, deps.pollMs, signal);
  }
  return `its agent could not be stopped (${cause}); it ends by itself once it was refused for 30 min`;
}

async function stopOnce(claimed: Claimed<EndAgentDeps>): Promise<void> {
  const machine = await whereIs(claimed);
  const session = await connect(claimed, machine);
  await proveHost(claimed, machine, session);
  await session.execute(stopAgentCommand(claimed.deps.agentPath), NOTHING, claimed.signal);
}

/** An unlisted machine counts as being at its last address. @throws {ProviderError} */
async function whereIs({ provider, provided, signal }: Claimed): Promise<ProviderMachine> {
  const { providerId, address } = provided;
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

/** The machine as its rows show it, if this process never saw it listed: only its address. */
const FORGOTTEN: Omit<ProviderMachine, 'id' | 'address'> = {
  reservationId: null,
  hostname: null,
  plan: '',
  ...NO_TRAITS,
  remoteUser: 'root',
  availability: 'PossiblyUsed',
  failed: false,
  status: null,
  power: 'unknown',
  tags: {},
  ownership: 'ours',
  observedAtMs: 0,
};

/**
 * Ends every process whose command line ends with the path (as given, or with its links resolved):
 * sends TERM, and KILL after five seconds. The script's own command line does not end so. It
 * ignores the agent's own record of its process, which may be missing or name another agent. Needs
 * a POSIX shell, and `tr`, `tail`, `readlink` and `sleep` of a usual Linux or busybox. Does not use
 * `grep`: busybox's stops at the first NUL, which follows the first word of a command line. Skips
 * kernel threads, whose command line is empty, before `tr` starts: a large machine has a thousand
 * of them.
 */
const STOP = `path=$1
real=$(readlink -f "$path" 2>/dev/null) || real=$path
agents() {
  for file; do
    read -r words <"$file"
    [ -n "$words" ] || continue
    last=$(tr '\\000' '\\n' <"$file" | tail -n 1)
    if [ "$last" = "$path" ] || [ "$last" = "$real" ]; then
      pid=\${file#/proc/}
      echo "\${pid%/cmdline}"
    fi
  done
} 2>/dev/null
for name in TERM KILL; do
  pids=$(agents /proc/[0-9]*/cmdline)
  [ -n "$pids" ] || exit 0
  kill -s "$name" $pids 2>/dev/null
  for second in 1 2 3 4 5; do
    sleep 1
    pids=$(for pid in $pids; do agents "/proc/$pid/cmdline"; done)
    [ -n "$pids" ] || break
  done
done
[ -z "$(agents /proc/[0-9]*/cmdline)" ]`;

/**
 * The command that stops the agent on a machine, as an argument vector. Exits with 0 once no agent
 * runs, also if none ran; with 1 after ten seconds. Writes nothing.
 *
 * Simulated machines must recognise its form: `sh`, `-c`, a script, `stop-agent`, the path of the
 * agent's program, and a last word that keeps the path from being last.
 */
export const stopAgentCommand = (agentPath: string): readonly string[] => [
  ...['sh', '-c', STOP, 'stop-agent'],
  ...[agentPath, 'now'],
];
