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
import type { LossPolicy } from '../../../domain/policy.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { nextStep } from '../../../domain/recovery/ladder.ts';
import type { Retirement } from '../../../domain/recovery/retirement.ts';
import type {
  LadderCircumstances,
  LadderPolicy,
  LadderStep,
} from '../../../domain/recovery/ladder.ts';
import {
  hungControllerOf,
  interrupts,
  meansOf,
  type Rung,
  type RungPolicy,
} from '../../../domain/recovery/rungs.ts';
import type { Proof, RecoveryResults } from '../../../machines/recovery.ts';
import type { HoldKeeper } from '../../providers/holds.ts';
import type { PermitQueue } from '../../turns/permit-queue.ts';
import type { EvidenceDeps } from '../evidence.ts';
import type { HostKeyEvidence } from '../host-key-proof.ts';
import { connect, policyFor, proveHost, readBootId, requireOurs, type Claimed } from '../task.ts';

/** Shared by all rungs of the ladder: the attempt, its records, and the probes of the machine. */
export interface RecoverDeps extends EvidenceDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'guard' | 'holds' | 'failed' | 'succeeded'>;
  /** Told of claimed machines that the guard or the budget stopped. */
  readonly permits: Pick<PermitQueue, 'missed'>;
  /** The mirror's facts, including heartbeats since the claim. */
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  readonly loss: LossPolicy;
  readonly backoff: BackoffDescriptor;
  /** Attempts and patience of each rung for a provider's machines. */
  readonly ladder: (provider: ProviderName) => LadderPolicy;
  /** What becomes of a provider's machines at the end of the ladder. */
  readonly retirement: (provider: ProviderName) => Retirement;
  /** Path of the agent's program on a machine. */
  readonly agentPath: string;
  /** Interval between probes, ± 20 %. */
  readonly pollMs: number;
  /** A request made less than this ago is not repeated. */
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

/** A machine in recovery. */
export interface Recovering extends Claimed<RecoverDeps> {
  readonly attempt: Attempt;
}
/** Part of the results of earlier steps. */
export type RecoveryFacts<Part extends keyof RecoveryResults> = Pick<RecoveryResults, Part>;

/**
 * Progress of an attempt. A failed step returns nothing, but the give-up must know what was sent:
 * so the steps record it here as they go.
 */
export interface Attempt {
  step: LadderStep;
  /** The attempt made a request, and no outage definitely refused it. */
  asked?: boolean;
  /** The host accepted our login. */
  reached?: boolean;
  /** The attempt failed before any request. */
  unasked?: NonNullable<FailureEffects['unasked']>;
  /** The database was unavailable, so that not all progress is recorded. */
  unnoted?: boolean;
  /** The last power request, which may have been carried out. */
  power?: 'off' | 'on';
  /** The last accepted host key, and its evidence. */
  believed?: { readonly hostKey: string; readonly evidence: HostKeyEvidence };
}

/** Records the attempt's progress; the give-up must know whether the database was unavailable. */
export async function noteProgress(
  { work, attempt }: Pick<Recovering, 'work'> & { readonly attempt?: Attempt | undefined },
  note: WorkNote,
): Promise<void> {
  try {
    await work.note(note);
  } catch (error) {
    // The next claim shows the result of a lost commit.
    const mayPass = isRetryable(error) || error instanceof AmbiguousCommit;
    if (attempt && mayPass) attempt.unnoted = true;
    throw error;
  }
}

/** The boot id of the agent's last report, from the rows. */
export const knownBootId = ({ row }: Claimed): string | null =>
  row.heartbeat?.bootId ?? row.agentStarted?.bootId ?? null;

/** The sources of a machine's circumstances. */
type CircumstancesDeps = Pick<RecoverDeps, 'nowMs' | 'facts' | 'ladder' | 'askAgainMs'>;

/** Whether the machine's next step needs a permit, as far as its rows tell. */
export function interruptsNext(
  deps: CircumstancesDeps & Pick<RecoverDeps, 'providers'>,
  { slot, row }: SlotFacts,
): boolean {
  const provider = row?.provided && deps.providers.get(row.provided.provider);
  if (!provider) return false;
  const step = nextStep(row, circumstancesOf({ deps, slot, row, provider }));
  return !('end' in step) && !step.resumed && interrupts(step.rung);
}

/** A machine and the sources of its circumstances. */
interface Circumstanced {
  readonly deps: CircumstancesDeps;
  readonly slot: Slot;
  readonly row: MachineRow;
  readonly provider: FleetProvider;
}
/** The circumstances that determine the ladder's next step. */
export function circumstancesOf({ deps, slot, row, provider }: Circumstanced): LadderCircumstances {
  const nowMs = deps.nowMs();
  const { holds = [], listed } = deps.facts().get(slot) ?? {};
  return {
    means: meansOf(provider.capabilities, { row, listed }),
    policy: deps.ladder(provider.name),
    preserved: isHeld(row, 'preserve', { holds, nowMs }),
    nowMs,
    askAgainMs: deps.askAgainMs,
    hungController: hungControllerOf(slot, deps.facts()),
  };
}

export const rungPolicy = ({ deps, provided, attempt }: Recovering): RungPolicy =>
  deps.ladder(provided.provider)[attempt.step.rung];

/** The operator's order of the attempt, as records and ends of work name it; absent: none. */
export const orderPart = ({ order }: LadderStep): { readonly order?: string } =>
  order === null ? {} : { order };

/** Codes of failures of the provider, the database or ourselves, not of the machine. */
const OUTAGES = new Set([
  ...['transient', 'aborted', 'stopped', 'auth', 'throttled'],
  ...['unreachable', 'timed-out', 'ambiguous-commit', 'retry-exhausted', 'work-lost'],
]);

/** Whether a failure says nothing about the machine; any other counts as an attempt on it. */
export const isOutage = (error: unknown): boolean => OUTAGES.has(codeOf(error)) || refusesUs(error);

/** Whether the provider refuses us for every machine. */
export function refusesUs(error: unknown): boolean {
  const { quota, capacity, retryAtMs } = facetsOf(error);
  return codeOf(error) === 'auth' || quota || capacity !== null || retryAtMs !== null;
}

/** Asks the provider for the machine. A failed query shows nothing. */
export async function glance(given: Claimed, failed: string): Promise<ProviderMachine | null> {
  try {
    return await requireOurs(given);
  } catch (err) {
    if (given.signal.aborted || !(err instanceof FleetError)) throw err;
    given.deps.log.debug({ slot: given.slot, err }, failed);
    return null;
  }
}

/** The pause between two looks. @param atMostMs the remaining time. */
export const pause = (
  { deps: { clock, random, pollMs }, signal }: Claimed<RecoverDeps>,
  atMostMs = Number.POSITIVE_INFINITY,
): Promise<void> =>
  sleep(clock, Math.max(0, Math.min(atMostMs, pollMs * (0.8 + 0.4 * random.next()))), signal);

/**
 * The result of one probe. `closed`: nobody listens at the SSH port. `unclear`: any other failure.
 */
interface Probe {
  readonly ssh: { readonly bootId: string } | 'closed' | 'unclear';
  readonly power: ProviderMachine['power'];
}
const UNCLEAR: Probe = { ssh: 'unclear', power: 'unknown' };

/**
 * Asks the provider for the machine, and the machine for its boot id. Until the host key is proved,
 * only the command that reads the machine's secret runs there.
 * @param onProved receives the connection to the proved host.
 * @throws {HostKeyRejected} it is another host.
 */
export async function probe(given: Recovering, onProved?: OnProved): Promise<Probe> {
  let power: Probe['power'] = 'unknown';
  try {
    const machine = await requireOurs(given);
    power = machine.power;
    return { ssh: { bootId: await bootIdOf(given, machine, onProved) }, power };
  } catch (error) {
    if (given.signal.aborted || error instanceof HostKeyRejected) throw error;
    if (!(error instanceof FleetError)) throw error;
    if (error instanceof NotListening) return { ssh: 'closed', power };
    given.deps.log.debug({ slot: given.slot, err: error }, 'the machine does not answer yet');
    return { ssh: 'unclear', power };
  }
}

type OnProved = (shell: ShellSession) => Promise<void>;

async function bootIdOf(
  given: Recovering,
  machine: ProviderMachine,
  onProved?: OnProved,
): Promise<string> {
  const shell = await connect(given, machine);
  try {
    await prove(given, machine, shell);
    const bootId = await readBootId(shell, given.signal);
    await onProved?.(shell);
    return bootId;
  } finally {
    shell.close();
  }
}

/**
 * Judges the remote host of a connection; does not check a just accepted key again.
 * @param pinned null: none is known, or it belongs to the previous system.
 * @returns the evidence.
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

/** A request and the machine's state before it. */
interface BootQuestion {
  /** Database clock; null: no request yet. */
  readonly askedAtMs: number | null;
  /** Null: unknown. */
  readonly bootIdBefore: string | null;
  /** The power was seen off since the request. */
  readonly offSeen: boolean;
  /** False if the boot may have ended long before the first probe. */
  readonly isMeasured: boolean;
  /** Time limit, to the second as people see it; the first probe is never cut short. */
  readonly forMs: number;
  /** Called after each look without proof, with the power that it saw. */
  readonly whileWaiting?: (power: ProviderMachine['power']) => Promise<void>;
}

/**
 * Probes the machine until a boot is proved by a changed boot id. The id is compared with the
 * previous or first seen id. It comes from SSH on a proved host, or from a heartbeat after the
 * request. If no boot id was known: an SSH port seen closed and then open, or power seen off and
 * then on. Power alone says little about the system, so SSH gets some more time. An accepted
 * request proves nothing.
 * @returns null: no proof.
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
    await question.whileWaiting?.(seen.power);
  } while (leftMs() > 0);
  return judge.hadPowerCycle() ? { what: 'power seen off and on', bootSeconds: null } : null;
}

/** The duration of a boot as it is stored. */
export const secondsOf = (tookMs: number): number => Math.max(1, Math.round(tookMs / 1_000));

/** A look that takes longer shows nothing. */
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
    /** The proof in the probe; null: none. */
    take({ ssh, power }: Probe, heard: string | null): string | null {
      if (power === 'off') seenOff = true;
      if (power === 'on' && seenOff) hadPowerCycle = true;
      if (before !== null && heard !== null && heard !== before) {
        return 'boot id changed, according to a heartbeat';
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
