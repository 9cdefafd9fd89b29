import { withTimeLimit } from '../../../adapters/clock/port.ts';
import { sleep } from '../../../adapters/clock/port.ts';
import type { ShellSession } from '../../../adapters/ssh/port.ts';
import { FleetError, HostKeyRejected, NotListening, TimedOut } from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import type { Proof } from '../../../machines/recovery.ts';
import { type HostKeyEvidence, proveHostKey } from '../host-key-proof.ts';
import { connect, policyFor, readBootId, requireOurs, targetOf } from '../task.ts';
import type { RecoverDeps, Recovering } from './deps.ts';

/**
 * What one probe of the machine showed. `closed`: nobody listens at its SSH port. `unclear`: it could
 * not be asked, for whatever reason.
 */
interface Probe {
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
function heardBootId(
  deps: RecoverDeps,
  { slot, work }: Recovering,
  afterMs: number,
): string | null {
  const row = deps.facts().get(slot)?.row;
  if (!row?.heartbeat || row.machineId !== work.machineId) return null;
  return row.heartbeat.atMs > afterMs ? row.heartbeat.bootId : null;
}

/** What was asked for, and what the machine was like before. */
interface BootQuestion {
  /** Database clock; null: nothing was asked for yet. */
  readonly askedAtMs: number | null;
  /** Null: not known. */
  readonly bootIdBefore: string | null;
  /** The power was seen off since. */
  readonly offSeen: boolean;
  /** A boot is not measured where it may have been over long before the first probe. */
  readonly isMeasured: boolean;
  /** Called after each look that proved nothing. */
  readonly whileWaiting?: () => Promise<void>;
}

/**
 * Probes the machine until something proves that it booted. Its boot id changed: from the one it
 * had before, else from the first one seen; seen by SSH on a proved host, or told by a heartbeat
 * younger than the request. Or, where none was known: its SSH port was seen closed and then open, or
 * its power off and then on. Power alone tells little of the system, so it is waited for a while
 * longer. An accepted request proves nothing.
 * @param forMs for how long, to the second, as people are told; but the first probe is never cut short.
 * @returns null: nothing proved it.
 */
export async function evidenceOfBoot(
  deps: RecoverDeps,
  given: Recovering,
  question: BootQuestion & { readonly forMs: number },
  signal: AbortSignal,
): Promise<Proof | null> {
  const deadline = deps.clock.monotonic() + question.forMs;
  const judge = createJudge(question);
  const leftMs = () => deadline - deps.clock.monotonic();
  let first = true;
  do {
    await pause(deps, signal, first ? Number.POSITIVE_INFINITY : leftMs());
    const seen = await (first
      ? probe(deps, given, signal)
      : probeFor(leftMs(), deps, given, signal));
    const heard = heardBootId(deps, given, question.askedAtMs ?? Number.POSITIVE_INFINITY);
    const what = judge.take(seen, heard);
    if (what !== null) {
      const isMeasured = question.askedAtMs !== null && (question.isMeasured || !first);
      return { what, bootSeconds: isMeasured ? secondsSince(deps, question.askedAtMs) : null };
    }
    first = false;
    await question.whileWaiting?.();
  } while (leftMs() > 0);
  return judge.hadPowerCycle() ? { what: 'power seen off and on', bootSeconds: null } : null;
}

/** Waits for a proof as above. @throws {TimedOut} nothing proved it. */
export async function requireEvidence(
  ...[deps, given, question, signal]: Parameters<typeof evidenceOfBoot>
): Promise<Proof> {
  const proof = await evidenceOfBoot(deps, given, question, signal);
  if (proof) return proof;
  throw new TimedOut(`no evidence that ${given.slot} booted within ${question.forMs} ms`);
}

/** A look that takes longer showed nothing. */
async function probeFor(
  ms: number,
  deps: RecoverDeps,
  given: Recovering,
  signal: AbortSignal,
): Promise<Probe> {
  if (ms <= 0) return UNCLEAR;
  const limit = { ms, what: `probe ${given.slot}`, signal };
  try {
    return await withTimeLimit(deps.clock, limit, (within) => probe(deps, given, within));
  } catch (error) {
    if (error instanceof TimedOut) return UNCLEAR;
    throw error;
  }
}
const UNCLEAR: Probe = { ssh: 'unclear', power: 'unknown' };

/** Between two looks. @param atMostMs what is left of the time for which it is looked. */
export const pause = (
  { clock, random, pollMs }: Pick<RecoverDeps, 'clock' | 'random' | 'pollMs'>,
  signal: AbortSignal,
  atMostMs = Number.POSITIVE_INFINITY,
): Promise<void> =>
  sleep(clock, Math.max(0, Math.min(atMostMs, pollMs * (0.8 + 0.4 * random.next()))), signal);

const secondsSince = ({ nowMs }: RecoverDeps, askedAtMs: number): number =>
  Math.max(1, Math.round((nowMs() - askedAtMs) / 1_000));

function createJudge({ bootIdBefore, offSeen }: BootQuestion) {
  let before = bootIdBefore;
  let seenClosed = false;
  let seenOff = offSeen;
  let hadPowerCycle = false;
  return {
    hadPowerCycle: () => before === null && hadPowerCycle,
    /** What the probe proves; null: nothing. */
    take({ ssh, power }: Probe, heard: string | null): string | null {
      if (power === 'off') seenOff = true;
      if (power === 'on' && seenOff) hadPowerCycle = true;
      if (before !== null && heard !== null && heard !== before) {
        return 'boot id changed, as a heartbeat told';
      }
      if (ssh === 'closed') seenClosed = true;
      if (typeof ssh === 'string') return null;
      if (before === null && seenClosed) return 'port closed and opened';
      if (before === null && hadPowerCycle) return 'power seen off and on';
      if (before !== null && ssh.bootId !== before) return 'boot id changed';
      before = ssh.bootId;
      return null;
    },
  };
}
