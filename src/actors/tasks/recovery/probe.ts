import { FleetError, HostKeyRejected, NotListening } from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import type { ShellSession } from '../../../adapters/ssh/port.ts';
import { type HostKeyEvidence, proveHostKey } from '../host-key-proof.ts';
import { connect, policyFor, readBootId, requireOurs, targetOf } from '../task.ts';
import type { RecoverDeps, Recovering } from './deps.ts';

/**
 * What one probe of the machine showed. `closed`: nobody listens at its SSH port. `unclear`: it could
 * not be asked, for whatever reason.
 */
export interface Probe {
  readonly ssh: { readonly bootId: string } | 'closed' | 'unclear';
  readonly power: ProviderMachine['power'];
}

/**
 * Asks the provider for the machine, and the machine for its boot id. Nothing but the question for
 * its secret runs there before its host key was proved.
 * @throws {HostKeyRejected} it is another host.
 */
export async function probe(
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Probe> {
  let power: Probe['power'] = 'unknown';
  try {
    const machine = await requireOurs(given, signal);
    power = machine.power;
    return { ssh: { bootId: await bootIdOf(deps, given, machine, signal) }, power };
  } catch (error) {
    if (signal.aborted || error instanceof HostKeyRejected) throw error;
    if (!(error instanceof FleetError)) throw error;
    if (error instanceof NotListening) return { ssh: 'closed', power };
    deps.log.debug({ slot: given.slot, err: error }, 'the machine does not answer yet');
    return { ssh: 'unclear', power };
  }
}

async function bootIdOf(
  deps: RecoverDeps,
  given: Recovering,
  machine: ProviderMachine,
  signal: AbortSignal,
): Promise<string> {
  const shell = await connect(deps, given, targetOf(deps, given, machine), signal);
  try {
    await prove(deps, given, { machine, shell, pinned: given.row.hostKey }, signal);
    return await readBootId(shell, signal);
  } finally {
    shell.close();
  }
}

/** A host at the other end of a connection, and what it is compared with. */
export interface Host {
  readonly machine: ProviderMachine;
  readonly shell: ShellSession;
  /** Null: none is known, or it is that of the system that was there before. */
  readonly pinned: string | null;
}

/**
 * Judges the host at the other end of a connection; a key that was believed a moment ago is not
 * asked about again.
 * @returns what it was believed for.
 * @throws see `proveHostKey`.
 */
export async function prove(
  deps: RecoverDeps,
  given: Recovering,
  { machine, shell, pinned }: Host,
  signal: AbortSignal,
): Promise<HostKeyEvidence> {
  const { attempt, provider, provided } = given;
  const policy = policyFor(deps, given);
  const { hostKey } = shell;
  if (policy === 'insecure')
    deps.metrics.count('shepherd_ssh_insecure_connections_total', { provider: provided.provider });
  if (attempt.believed?.hostKey === hostKey) return attempt.believed.evidence;
  const onChanged = () =>
    deps.metrics.count('shepherd_ssh_hostkey_changes_total', { provider: provided.provider });
  const question = { provider, machine, session: shell, policy, pinned, signal, onChanged };
  const evidence = await proveHostKey(question);
  attempt.believed = { hostKey, evidence };
  return evidence;
}

/** The boot id of the newest heartbeat, if it came after that time (database clock). */
export function heardBootId(
  deps: RecoverDeps,
  { slot, work }: Recovering,
  afterMs: number,
): string | null {
  const row = deps.facts().get(slot)?.row;
  if (!row?.heartbeat || row.machineId !== work.machineId) return null;
  return row.heartbeat.atMs > afterMs ? row.heartbeat.bootId : null;
}
