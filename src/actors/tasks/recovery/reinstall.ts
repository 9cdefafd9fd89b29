import type { ShellSession } from '../../../adapters/ssh/port.ts';
import { FleetError, HostKeyRejected, ProviderError, TimedOut } from '../../../domain/errors.ts';
import type { ProviderMachine } from '../../../domain/machine.ts';
import { patienceOf } from '../../../domain/recovery/ladder.ts';
import { connect, readBootId, required, requireOurs } from '../task.ts';
import { askProvider, cameTrueBy, resume } from './boot.ts';
import {
  knownBootId,
  pause,
  probe,
  prove,
  rungPolicy,
  secondsOf,
  type Recovering,
  type RecoveryFacts,
} from './recovering.ts';

/** Requests a new system, unless an earlier request may still succeed. */
export async function askReinstall(given: Recovering): Promise<RecoveryFacts<'asked'>> {
  if (given.attempt.step.resumed) return resume(given);
  const late = await cameTrue(given);
  if (late) return late;
  const { ssh } = await probe(given);
  const bootIdBefore = typeof ssh === 'string' ? knownBootId(given) : ssh.bootId;
  const asked = await askProvider(given, {
    ...{ call: 'reinstall', bootIdBefore },
    ask: (provider, id, how) => provider.reinstallMachine(id, how),
  });
  return { asked };
}

/** An earlier request that succeeded after its wait, with its proof; null: it did not. */
async function cameTrue(given: Recovering): Promise<RecoveryFacts<'asked'> | null> {
  const { row, attempt } = given;
  const { recovery } = row;
  if (attempt.step.order !== null || recovery?.askedRung !== 'reinstalling') return null;
  const { bootIdBefore, hostKeyBefore } = recovery;
  const seen = await createWatch(given, { bootIdBefore, hostKeyBefore, pinned: row.hostKey })();
  if (seen === null) return null;
  const what = `${seen}, after the wait had ended`;
  return cameTrueBy(bootIdBefore, { what, bootSeconds: null });
}

/** Waits, without a place, for a new system that proves to be the machine. @throws {TimedOut} */
export async function awaitSystem(
  given: Recovering & RecoveryFacts<'asked'>,
): Promise<RecoveryFacts<'proof'>> {
  const { deps, slot, work, row, asked } = given;
  const { step } = given.attempt;
  const { bootIdBefore } = asked;
  if (asked.proof) return { proof: asked.proof };
  deps.taskPool.leavePlace(slot);
  const askedAtMs = required(asked.askedAtMs, 'request for a new system');
  const policy = rungPolicy(given);
  const waitMs = step.resumed ? policy.patienceMs : patienceOf(step, policy, row.bootTimes);
  const deadline = deps.clock.monotonic() + askedAtMs + waitMs - deps.nowMs();
  const hostKeyBefore = step.resumed ? (row.recovery?.hostKeyBefore ?? null) : row.hostKey;
  // The pinned key belongs to the system before the reinstallation.
  const watch = createWatch(given, { bootIdBefore, hostKeyBefore, pinned: null });
  let what: string | null = null;
  let probes = 0;
  do {
    await pause(given);
    probes += 1;
    what = await watch();
  } while (what === null && deps.clock.monotonic() < deadline);
  if (what === null) {
    throw new TimedOut(`no evidence that ${slot} was reinstalled within ${waitMs} ms`);
  }
  const isMeasured = probes > 1 || !step.resumed;
  const bootSeconds = isMeasured ? secondsOf(deps.nowMs() - askedAtMs) : null;
  deps.log.info({ slot, machine: work.machineId, proof: what }, 'new system proved');
  return { proof: { what, bootSeconds } };
}

/** The system before the reinstallation; null: unknown. */
interface OldSystem {
  readonly bootIdBefore: string | null;
  readonly hostKeyBefore: string | null;
  /** The host key that is still valid. */
  readonly pinned: string | null;
}

/**
 * Watches a reinstallation. The old system may answer for a while. The system is new once the
 * provider was seen working on it or the host key changed. Without a known old key, the secret or
 * the provider must prove the new key. Proof requires the provider's status Running, a changed boot
 * id, and a proved host.
 * @returns a function that probes once and returns the proof; null: none yet. It throws
 * {HostKeyRejected} if a new host is not the machine, and {ProviderError} if the provider was seen at
 * work and says that it failed.
 */
function createWatch(
  given: Recovering,
  { bootIdBefore, hostKeyBefore, pinned }: OldSystem,
): () => Promise<string | null> {
  const { signal } = given;
  let seenProvisioning = false;
  let hasFailed = false;
  // Without a known old key, the old system may answer: only the provider at work tells.
  const isNewHost = (shell: ShellSession | null) =>
    hostKeyBefore === null ? seenProvisioning : shell?.hostKey !== hostKeyBefore;

  const judge = async (machine: ProviderMachine, shell: ShellSession): Promise<string | null> => {
    const hasNewKey = hostKeyBefore !== null && isNewHost(shell);
    if (!hasNewKey && !seenProvisioning && hostKeyBefore !== null) return null;
    const evidence = await prove(given, machine, shell, pinned);
    const isProved = evidence === 'secret' || evidence === 'provider';
    if (!hasNewKey && !seenProvisioning && !isProved) return null;
    const bootId = await readBootId(shell, signal);
    if (bootIdBefore === bootId) return null;
    if (hasNewKey) return 'new host key, new boot';
    return seenProvisioning ? 'installed by the provider, new boot' : 'proved host, new boot';
  };

  return async () => {
    let shell: ShellSession | null = null;
    try {
      const machine = await requireOurs(given);
      if (machine.status === 'Provisioning') seenProvisioning = true;
      hasFailed = seenProvisioning && machine.status === 'ProvisioningFailedPermanent';
      if (hasFailed) throw new ProviderError('permanent', 'the provider says that it failed');
      if (machine.status !== 'Running') return null;
      shell = await connect(given, machine);
      return await judge(machine, shell);
    } catch (error) {
      if (signal.aborted || hasFailed || !(error instanceof FleetError)) throw error;
      if (error instanceof HostKeyRejected && isNewHost(shell)) throw error;
      given.deps.log.debug({ slot: given.slot, err: error }, 'the new system does not answer yet');
      return null;
    } finally {
      shell?.close();
    }
  };
}
