import type { FailureEffects, WorkNote } from '../../../adapters/bmdb/port.ts';
import { sleep, withTimeLimit, type Random } from '../../../adapters/clock/port.ts';
import type { FleetProvider } from '../../../adapters/provider/port.ts';
import type { ShellSession } from '../../../adapters/ssh/port.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isHeld } from '../../../domain/eligibility.ts';
import {
  AmbiguousCommit,
  codeOf,
  FleetError,
  HostKeyRejected,
  isRetryable,
  NotListening,
  TimedOut,
} from '../../../domain/errors.ts';
import type { ProviderName, Slot } from '../../../domain/ids.ts';
import type { MachineRow, ProviderMachine, SlotFacts } from '../../../domain/machine.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { nextStep } from '../../../domain/recovery/ladder.ts';
import type {
  LadderCircumstances,
  LadderPolicy,
  LadderStep,
} from '../../../domain/recovery/ladder.ts';
import {
  hungControllerOf,
  interrupts,
  type Rung,
  type RungPolicy,
} from '../../../domain/recovery/rungs.ts';
import type { Proof, RecoveryTold } from '../../../machines/recovery.ts';
import type { HoldKeeper } from '../../providers/holds.ts';
import type { PermitQueue } from '../../turns/permit-queue.ts';
import type { HostKeyEvidence } from '../host-key-proof.ts';
import {
  connect,
  policyFor,
  proveHost,
  readBootId,
  requireOurs,
  type Claimed,
  type TaskDeps,
} from '../task.ts';

/** What all rungs of the ladder share: the attempt, its notes, and the looks at the machine. */
export interface RecoverDeps extends TaskDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'guard' | 'holds' | 'failed' | 'succeeded'>;
  /** Told of machines that the guard or the budget was against once they were claimed. */
  readonly permits: Pick<PermitQueue, 'missed'>;
  /** What the mirror knows, heartbeats that came since a claim included. */
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  /** Estimate of the database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly backoff: BackoffDescriptor;
  /** Attempts and patience of each rung, for a provider's machines. */
  readonly ladder: (provider: ProviderName) => LadderPolicy;
  /** Where the agent's program is on a machine. */
  readonly agentPath: string;
  /** Time between two probes, ± 20 %. */
  readonly pollMs: number;
  /** What was asked for less than this ago is not asked for again. */
  readonly askAgainMs: number;
}

/** Counts a step of an attempt on a rung; `outcome` is one of a few words. */
export function countAttempt(
  { deps: { metrics }, provided: { provider } }: Claimed,
  rung: Rung,
  outcome: 'asked' | 'proved' | 'refused' | 'failed' | 'exhausted',
): void {
  metrics.count('shepherd_ladder_attempts_total', { provider, rung, outcome });
  if (rung === 'reinstalling') metrics.count('shepherd_reinstalls_total', { provider, outcome });
}

/** A machine that is being brought back. */
export interface Recovering extends Claimed<RecoverDeps> {
  readonly attempt: Attempt;
}
/** A part of what earlier steps told. */
export type Told<Part extends keyof RecoveryTold> = Pick<RecoveryTold, Part>;

/**
 * How far an attempt has come. A step that fails returns nothing, and whoever gives the attempt up
 * has to know what was sent all the same: so this is written down while the steps go on.
 */
export interface Attempt {
  step: LadderStep;
  /** Something was asked for in this attempt, and not refused for certain by an outage. */
  asked?: boolean;
  /** Its host let us in. */
  reached?: boolean;
  /** It failed before anything was asked for. */
  unasked?: NonNullable<FailureEffects['unasked']>;
  /** The database could not take a note for now: how far it has come is not all written down. */
  unnoted?: boolean;
  /** What was asked of the power last, and perhaps done. */
  power?: 'off' | 'on';
  /** The host key that was believed last, and what for. */
  believed?: { readonly hostKey: string; readonly evidence: HostKeyEvidence };
}

/** Notes how far the attempt is; whoever gives it up has to know whether the database was away. */
export async function noteProgress(
  { work, attempt }: Pick<Recovering, 'work'> & { readonly attempt?: Attempt | undefined },
  note: WorkNote,
): Promise<void> {
  try {
    await work.note(note);
  } catch (error) {
    // What became of a lost commit shows when the work is claimed anew.
    const mayPass = isRetryable(error) || error instanceof AmbiguousCommit;
    if (attempt && mayPass) attempt.unnoted = true;
    throw error;
  }
}

/** The boot id with which the agent reported last, as the rows say. */
export const knownBootId = ({ row }: Claimed): string | null =>
  row.heartbeat?.bootId ?? row.agentStarted?.bootId ?? null;

/** What the circumstances of a machine are taken from. */
type CircumstancesDeps = Pick<RecoverDeps, 'nowMs' | 'facts' | 'ladder' | 'askAgainMs'>;

/** Whether the machine's next step needs a permit, as far as its rows can tell. */
export function interruptsNext(
  deps: CircumstancesDeps & Pick<RecoverDeps, 'providers'>,
  { slot, row }: SlotFacts,
): boolean {
  const provider = row?.provided && deps.providers.get(row.provided.provider);
  if (!provider) return false;
  const step = nextStep(row, circumstancesOf({ deps, slot, row, provider }));
  return !('end' in step) && !step.resumed && interrupts(step.rung);
}

/** A machine, and what its circumstances are taken from. */
interface Circumstanced {
  readonly deps: CircumstancesDeps;
  readonly slot: Slot;
  readonly row: MachineRow;
  readonly provider: FleetProvider;
}
/** What the ladder's next step depends on. */
export function circumstancesOf({ deps, slot, row, provider }: Circumstanced): LadderCircumstances {
  const nowMs = deps.nowMs();
  const holds = deps.facts().get(slot)?.holds ?? [];
  return {
    means: provider.capabilities,
    policy: deps.ladder(provider.name),
    preserved: isHeld(row, 'preserve', { holds, nowMs }),
    nowMs,
    askAgainMs: deps.askAgainMs,
    hungController: hungControllerOf(slot, deps.facts()),
  };
}

export const rungPolicy = ({ deps, provided, attempt }: Recovering): RungPolicy =>
  deps.ladder(provided.provider)[attempt.step.rung];

/** The operator's order that the attempt carries out, as notes and ends of work name it; nothing without one. */
export const orderPart = ({ order }: LadderStep): { readonly order?: string } =>
  order === null ? {} : { order };

/** Codes of failures that are the provider's, the database's or our own, not the machine's. */
const OUTAGES = new Set([
  ...['transient', 'aborted', 'stopped', 'auth', 'throttled'],
  ...['unreachable', 'timed-out', 'ambiguous-commit', 'retry-exhausted', 'work-lost'],
]);

/** Whether a failure says nothing of the machine; any other counts as an attempt on it. */
export const isOutage = (error: unknown): boolean => OUTAGES.has(codeOf(error)) || refusesUs(error);

/** Whether the provider refuses us, whatever machine is meant. */
export function refusesUs(error: unknown): boolean {
  const { quota, capacity, retryAtMs } = facetsOf(error);
  return codeOf(error) === 'auth' || quota || capacity !== null || retryAtMs !== null;
}

/** Asks the provider for the machine. A question that fails shows nothing. */
export async function glance(given: Claimed, failed: string): Promise<ProviderMachine | null> {
  try {
    return await requireOurs(given);
  } catch (err) {
    if (given.signal.aborted || !(err instanceof FleetError)) throw err;
    given.deps.log.debug({ slot: given.slot, err }, failed);
    return null;
  }
}

/** Between two looks. @param atMostMs what is left of the time for which it is looked. */
export const pause = (
  { deps: { clock, random, pollMs }, signal }: Claimed<RecoverDeps>,
  atMostMs = Number.POSITIVE_INFINITY,
): Promise<void> =>
  sleep(clock, Math.max(0, Math.min(atMostMs, pollMs * (0.8 + 0.4 * random.next()))), signal);

/**
 * What one probe of the machine showed. `closed`: nobody listens at its SSH port. `unclear`: it could
 * not be asked, for whatever reason.
 */
interface Probe {
  readonly ssh: { readonly bootId: string } | 'closed' | 'unclear';
  readonly power: ProviderMachine['power'];
}
const UNCLEAR: Probe = { ssh: 'unclear', power: 'unknown' };

/**
 * Asks the provider for the machine, and the machine for its boot id. Until the host key is proved, only
 * the command that reads the machine's secret runs there.
 * @throws {HostKeyRejected} it is another host.
 */
export async function probe(given: Recovering): Promise<Probe> {
  let power: Probe['power'] = 'unknown';
  try {
    const machine = await requireOurs(given);
    power = machine.power;
    return { ssh: { bootId: await bootIdOf(given, machine) }, power };
  } catch (error) {
    if (given.signal.aborted || error instanceof HostKeyRejected) throw error;
    if (!(error instanceof FleetError)) throw error;
    if (error instanceof NotListening) return { ssh: 'closed', power };
    given.deps.log.debug({ slot: given.slot, err: error }, 'the machine does not answer yet');
    return { ssh: 'unclear', power };
  }
}

async function bootIdOf(given: Recovering, machine: ProviderMachine): Promise<string> {
  const shell = await connect(given, machine);
  try {
    await prove(given, machine, shell);
    return await readBootId(shell, given.signal);
  } finally {
    shell.close();
  }
}

/**
 * Judges the host at the other end of a connection; a key that was believed a moment ago is not
 * asked about again.
 * @param pinned null: none is known, or it is that of the system that was there before.
 * @returns what it was believed for.
 * @throws see `proveHostKey`.
 */
export async function prove(
  given: Recovering,
  machine: ProviderMachine,
  shell: ShellSession,
  pinned: string | null = given.row.hostKey,
): Promise<HostKeyEvidence> {
  const { deps, attempt, provided } = given;
  const { hostKey } = shell;
  if (policyFor(given) === 'insecure')
    deps.metrics.count('shepherd_ssh_insecure_connections_total', { provider: provided.provider });
  if (attempt.believed?.hostKey === hostKey) return attempt.believed.evidence;
  const evidence = await proveHost(given, machine, shell, pinned);
  attempt.believed = { hostKey, evidence };
  return evidence;
}

/** The boot id of the newest heartbeat, if it came after that time (database clock). */
function heardBootId({ deps, slot, work }: Recovering, afterMs: number): string | null {
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
  /** For how long, to the second, as people are told; but the first probe is never cut short. */
  readonly forMs: number;
  /** Called after each look that proved nothing. */
  readonly whileWaiting?: () => Promise<void>;
}

/**
 * Probes the machine until something proves that it booted. Its boot id changed: from the one it
 * had before, else from the first one seen; seen by SSH on a proved host, or told by a heartbeat
 * younger than the request. Or, where none was known: its SSH port was seen closed and then open, or
 * its power off and then on. Power alone tells little of the system, so it is waited for a while
 * longer. An accepted request proves nothing.
 * @returns null: nothing proved it.
 */
export async function evidenceOfBoot(
  given: Recovering,
  question: BootQuestion,
): Promise<Proof | null> {
  const { clock, nowMs } = given.deps;
  const { askedAtMs } = question;
  const deadline = clock.monotonic() + question.forMs;
  const judge = createJudge(question);
  const leftMs = () => deadline - clock.monotonic();
  let first = true;
  do {
    await pause(given, first ? Number.POSITIVE_INFINITY : leftMs());
    const seen = await (first ? probe(given) : probeFor(leftMs(), given));
    const heard = heardBootId(given, askedAtMs ?? Number.POSITIVE_INFINITY);
    const what = judge.take(seen, heard);
    if (what !== null) {
      const isMeasured = askedAtMs !== null && (question.isMeasured || !first);
      return { what, bootSeconds: isMeasured ? secondsOf(nowMs() - askedAtMs) : null };
    }
    first = false;
    await question.whileWaiting?.();
  } while (leftMs() > 0);
  return judge.hadPowerCycle() ? { what: 'power seen off and on', bootSeconds: null } : null;
}

/** How long a boot took, as it is remembered. */
export const secondsOf = (tookMs: number): number => Math.max(1, Math.round(tookMs / 1_000));

/** A look that takes longer showed nothing. */
async function probeFor(ms: number, given: Recovering): Promise<Probe> {
  if (ms <= 0) return UNCLEAR;
  const limit = { ms, what: `probe ${given.slot}`, signal: given.signal };
  try {
    return await withTimeLimit(given.deps.clock, limit, (signal) => probe({ ...given, signal }));
  } catch (error) {
    if (error instanceof TimedOut) return UNCLEAR;
    throw error;
  }
}

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
