import { sleep } from '../../../adapters/clock/port.ts';
import { TimedOut } from '../../../domain/errors.ts';
import { withLimit } from '../task.ts';
import type { Proof, RecoverDeps, Recovering } from './deps.ts';
import { heardBootId, probe, type Probe } from './probe.ts';

/** What was asked for, and what the machine was like before. */
export interface BootQuestion {
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
    return await withLimit(deps.clock, limit, (within) => probe(deps, given, within));
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
