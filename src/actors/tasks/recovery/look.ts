import { FleetError, HostKeyRejected, NotListening } from '../../../domain/errors.ts';
import type { Turn } from '../../desk.ts';
import { type HostKeyEvidence, proveHostKey } from '../host-key-proof.ts';
import { connectTo, locate, policyFor, providerFor, readBootId } from '../task.ts';
import { attemptOf, providerOfTurn, type RecoverDeps } from './deps.ts';

/**
 * What one look at the machine showed. `closed`: nobody listens at its SSH port. `unclear`: it could
 * not be asked, for whatever reason.
 */
export interface Look {
  readonly ssh: { readonly bootId: string } | 'closed' | 'unclear';
  readonly power: 'on' | 'off' | 'unknown';
}

/**
 * Asks the provider for the machine, and the machine for its boot id. Nothing but the question for
 * its secret runs there before its host key was proved.
 * @throws {HostKeyRejected} it is another host.
 */
export async function look(deps: RecoverDeps, turn: Turn, signal: AbortSignal): Promise<Look> {
  delete turn.machine;
  try {
    const bootId = await bootIdOf(deps, turn, signal);
    return { ssh: { bootId }, power: powerSeen(turn) };
  } catch (error) {
    if (signal.aborted || error instanceof HostKeyRejected) throw error;
    if (!(error instanceof FleetError)) throw error;
    if (error instanceof NotListening) return { ssh: 'closed', power: powerSeen(turn) };
    deps.log.debug({ slot: turn.slot, err: error }, 'the machine does not answer yet');
    return { ssh: 'unclear', power: powerSeen(turn) };
  } finally {
    turn.shell?.close();
  }
}

/** Of the last look at the provider. */
export const powerSeen = ({ machine }: Turn): Look['power'] => machine?.power ?? 'unknown';

async function bootIdOf(deps: RecoverDeps, turn: Turn, signal: AbortSignal): Promise<string> {
  await connectTo(deps, turn, await locate(deps, turn, signal), signal);
  await prove(deps, turn, signal);
  return readBootId(turn, signal);
}

/**
 * Judges the host at the other end of the turn's connection; a key that was believed a moment ago is
 * not asked about again.
 * @returns what it was believed for.
 * @throws see `proveHostKey`.
 */
export async function prove(
  deps: RecoverDeps,
  turn: Turn,
  signal: AbortSignal,
): Promise<HostKeyEvidence> {
  const attempt = attemptOf(turn);
  const policy = policyFor(deps, turn);
  const { hostKey } = turn.shell!;
  if (policy === 'insecure') deps.metrics.insecureConnection(providerOfTurn(turn));
  if (attempt.believed?.hostKey === hostKey) return attempt.believed.evidence;
  const evidence = await proveHostKey({
    provider: providerFor(deps, turn),
    machine: turn.machine!,
    session: turn.shell!,
    policy,
    pinned: isForgotten(turn) ? null : turn.work!.row.hostKey,
    signal,
  });
  attempt.believed = { hostKey, evidence };
  return evidence;
}

/** The pin is that of the system that was there before. */
const isForgotten = (turn: Turn): boolean =>
  attemptOf(turn).step.rung === 'reinstalling' && attemptOf(turn).askedAtMs !== undefined;

/** The boot id of the newest heartbeat, if it came after that time (database clock). */
export function heardBootId(deps: RecoverDeps, turn: Turn, afterMs: number): string | null {
  const row = deps.facts().get(turn.slot)?.row;
  if (!row?.heartbeat || row.machineId !== turn.work!.machineId) return null;
  return row.heartbeat.atMs > afterMs ? row.heartbeat.bootId : null;
}
