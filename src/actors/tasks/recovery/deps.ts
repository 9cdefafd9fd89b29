import type { FailureEffects, WorkNote } from '../../../adapters/bmdb/port.ts';
import type { FleetProvider } from '../../../adapters/provider/port.ts';
import type { Random } from '../../../adapters/clock/port.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { AmbiguousCommit, codeOf, isRetryable } from '../../../domain/errors.ts';
import { facetsOf } from '../../../domain/provisioning/provider-holds.ts';
import { isHeld } from '../../../domain/eligibility.ts';
import type { ProviderName, Slot } from '../../../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../../domain/machine.ts';
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
import type { RecoveryTold } from '../../../machines/recovery.ts';
import type { PermitQueue } from '../../turns/permit-queue.ts';
import type { HoldKeeper } from '../../providers/holds.ts';
import type { HostKeyEvidence } from '../host-key-proof.ts';
import type { Claimed, TaskDeps } from '../task.ts';

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
  { metrics }: Pick<RecoverDeps, 'metrics'>,
  provider: ProviderName,
  rung: Rung,
  outcome: 'asked' | 'proved' | 'refused' | 'failed' | 'exhausted',
): void {
  metrics.count('shepherd_ladder_attempts_total', { provider, rung, outcome });
  if (rung === 'reinstalling') metrics.count('shepherd_reinstalls_total', { provider, outcome });
}

/** A machine that is being brought back. */
export interface Recovering extends Claimed {
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
  const step = nextStep(row, circumstancesOf(deps, { slot, row, provider }));
  return !('end' in step) && !step.resumed && interrupts(step.rung);
}

/** What the ladder's next step depends on. */
export function circumstancesOf(
  deps: CircumstancesDeps,
  { slot, row, provider }: { slot: Slot; row: MachineRow; provider: FleetProvider },
): LadderCircumstances {
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

export const rungPolicy = (deps: RecoverDeps, { provided, attempt }: Recovering): RungPolicy =>
  deps.ladder(provided.provider)[attempt.step.rung];

/** Names the order in notes and ends of work, if the attempt is for one. */
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
