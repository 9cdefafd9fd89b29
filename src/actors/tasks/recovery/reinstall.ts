import { FleetError, HostKeyRejected, TimedOut } from '../../../domain/errors.ts';
import { patienceOf } from '../../../domain/recovery/ladder.ts';
import type { Job } from '../../../machines/task.ts';
import type { Proof, Turn } from '../../desk.ts';
import { connectTo, locate, readBootId, stepSignal } from '../task.ts';
import { askProvider } from './ask.ts';
import { attemptOf, rungPolicy, type RecoverDeps } from './deps.ts';
import { pause } from './evidence.ts';
import { look, prove } from './look.ts';
import { resume } from './reboot.ts';

/** Asks for a new system, unless an earlier request may still come true. */
export async function askReinstall(
  deps: RecoverDeps,
  { slot }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const { step } = attemptOf(turn);
  const ends = stepSignal(deps, turn, signal);
  if (step.resumed) return resume(turn);
  if (await hasComeTrue(deps, turn, ends)) return;
  const { ssh } = await look(deps, turn, ends);
  const { row } = turn.work!;
  const known = row.heartbeat?.bootId ?? row.agentStarted?.bootId ?? null;
  turn.bootId = typeof ssh === 'string' ? known : ssh.bootId;
  await askProvider(
    deps,
    turn,
    {
      call: 'reinstall',
      ask: (provider, id, how) => provider.reinstallMachine(id, how),
    },
    ends,
  );
}

/** An earlier request, whose wait was over, did what it should in the end. */
async function hasComeTrue(deps: RecoverDeps, turn: Turn, signal: AbortSignal): Promise<boolean> {
  const attempt = attemptOf(turn);
  const { recovery } = turn.work!.row;
  if (attempt.step.order !== null || recovery?.askedRung !== 'reinstalling') return false;
  turn.bootId = recovery.bootIdBefore;
  const what = await createWatch(turn, recovery.hostKeyBefore).see(deps, signal);
  if (what !== null) attempt.proof = proofOf(`${what}, after the wait for it was over`, null);
  return what !== null;
}

/** Waits, without a place, for a new system that proves to be the machine. @throws {TimedOut} */
export async function awaitSystem(
  deps: RecoverDeps,
  { slot, machineId }: Job,
  signal: AbortSignal,
): Promise<void> {
  const turn = deps.desk.turn(slot);
  const attempt = attemptOf(turn);
  if (attempt.proof) return;
  deps.desk.leavePlace(slot);
  const ends = stepSignal(deps, turn, signal);
  const { row } = turn.work!;
  const askedAtMs = attempt.askedAtMs!;
  const policy = rungPolicy(deps, turn);
  const waitMs = attempt.step.resumed
    ? policy.patienceMs
    : patienceOf(attempt.step, policy, row.bootTimes);
  const deadline = deps.clock.monotonic() + askedAtMs + waitMs - deps.nowMs();
  const watch = createWatch(turn, attempt.step.resumed ? row.recovery!.hostKeyBefore : row.hostKey);
  let what: string | null = null;
  let looks = 0;
  do {
    await pause(deps, ends);
    looks += 1;
    what = await watch.see(deps, ends);
  } while (what === null && deps.clock.monotonic() < deadline);
  if (what === null) {
    throw new TimedOut(`no evidence that ${slot} was reinstalled within ${waitMs} ms`);
  }
  const isMeasured = looks > 1 || !attempt.step.resumed;
  attempt.proof = proofOf(what, isMeasured ? deps.nowMs() - askedAtMs : null);
  deps.log.info({ slot, machine: machineId, proof: what }, 'new system proved');
}

const proofOf = (what: string, tookMs: number | null): Proof => ({
  what,
  bootSeconds: tookMs === null ? null : Math.max(1, Math.round(tookMs / 1_000)),
});

/**
 * What is seen of a reinstallation. The old system may answer for a while: it is new once the
 * provider was seen at work on it, or the host key is another one; or, where none was known before,
 * once the secret or the provider proves the key. It counts when the provider says Running, the boot
 * is another one, and the host proves to be the machine.
 */
function createWatch(turn: Turn, hostKeyBefore: string | null) {
  let seenProvisioning = false;
  // Without an old key the old system may be what answers: only work that was seen tells.
  const isNewHost = () =>
    hostKeyBefore === null ? seenProvisioning : turn.shell?.hostKey !== hostKeyBefore;

  const judge = async (deps: RecoverDeps, signal: AbortSignal): Promise<string | null> => {
    const hasNewKey = hostKeyBefore !== null && isNewHost();
    if (!hasNewKey && !seenProvisioning && hostKeyBefore !== null) return null;
    const evidence = await prove(deps, turn, signal);
    const isProved = evidence === 'secret' || evidence === 'provider';
    if (!hasNewKey && !seenProvisioning && !isProved) return null;
    const bootId = await readBootId(turn, signal);
    if (turn.bootId === bootId) return null;
    if (hasNewKey) return 'new host key, new boot';
    return seenProvisioning ? 'installed by the provider, new boot' : 'proved host, new boot';
  };

  return {
    /** What proves it; null: nothing yet. @throws {HostKeyRejected} a new host is not the machine. */
    async see(deps: RecoverDeps, signal: AbortSignal): Promise<string | null> {
      try {
        const target = await locate(deps, turn, signal).finally(() => {
          if (turn.machine?.status === 'Provisioning') seenProvisioning = true;
        });
        if (turn.machine!.status !== 'Running') return null;
        await connectTo(deps, turn, target, signal);
        return await judge(deps, signal);
      } catch (error) {
        if (signal.aborted || !(error instanceof FleetError)) throw error;
        if (error instanceof HostKeyRejected && isNewHost()) throw error;
        deps.log.debug({ slot: turn.slot, err: error }, 'the new system does not answer yet');
        return null;
      } finally {
        turn.shell?.close();
      }
    },
  };
}
