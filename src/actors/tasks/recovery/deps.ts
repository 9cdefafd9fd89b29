import type { Random } from '../../../adapters/clock/port.ts';
import type { BackoffDescriptor } from '../../../domain/backoff.ts';
import { isHeld } from '../../../domain/eligibility.ts';
import type { ProviderName, Slot } from '../../../domain/ids.ts';
import type { MachineRow, SlotFacts } from '../../../domain/machine.ts';
import type {
  LadderCircumstances,
  LadderPolicy,
  LadderStep,
  RungPolicy,
} from '../../../domain/recovery/ladder.ts';
import type { Attempt, Turn } from '../../desk.ts';
import type { HoldKeeper } from '../../provider-holds.ts';
import type { TaskDeps } from '../task.ts';

export interface RecoverDeps extends TaskDeps {
  readonly random: Random;
  readonly holds: Pick<HoldKeeper, 'check' | 'holds' | 'failed' | 'succeeded'>;
  /** What the mirror knows, heartbeats that came since a claim included. */
  readonly facts: () => ReadonlyMap<Slot, SlotFacts>;
  /** Estimate of the database clock, epoch ms. */
  readonly nowMs: () => number;
  readonly backoff: BackoffDescriptor;
  /** Attempts and patience of each rung, for a provider's machines. */
  readonly ladder: (provider: ProviderName) => LadderPolicy;
  /** Where the agent's program is on a machine. */
  readonly agentPath: string;
  /** Distance of two looks, ± 20 %. */
  readonly pollMs: number;
  /** What was asked for less than this ago is not asked for again. */
  readonly askAgainMs: number;
}

/** The attempt that the turn is at; there is one from the claim on. */
export const attemptOf = (turn: Turn): Attempt => turn.attempt!;
export const providerOfTurn = (turn: Turn): ProviderName => turn.work!.row.provided!.provider;

/** What the ladder's next step depends on. */
export function circumstancesOf(
  deps: RecoverDeps,
  slot: Slot,
  row: MachineRow,
): LadderCircumstances {
  const provider = row.provided!.provider;
  const { capabilities } = deps.providers.get(provider)!;
  const nowMs = deps.nowMs();
  const holds = deps.facts().get(slot)?.holds ?? [];
  return {
    means: capabilities,
    policy: deps.ladder(provider),
    preserved: isHeld(row, 'preserve', { holds, nowMs }),
    nowMs,
    askAgainMs: deps.askAgainMs,
  };
}

export const rungPolicy = (deps: RecoverDeps, turn: Turn): RungPolicy =>
  deps.ladder(providerOfTurn(turn))[attemptOf(turn).step.rung];

/** For notes and ends of work: which order it is, if it is one. */
export const orderPart = ({ order }: LadderStep): { readonly order?: string } =>
  order === null ? {} : { order };
