import type { MachineId, ProviderName } from '../ids.ts';
import type { DrainMode, HoldKind, ProviderHoldKind } from '../machine.ts';
import type { GuardVerb, PoolVerb, ProviderVerb } from '../verbs.ts';
import type { InstallImage } from '../requests.ts';

/** What may be asked for, and of what. */

/** `slot` is where it is to be done; `machineId` must be on it when it is done, if it is given. */
export interface RequestTarget {
  readonly provider: ProviderName;
  readonly slotId: string;
  /** Null: whatever is on the slot, also nothing. Orders and decisions but holds need one. */
  readonly machineId: MachineId | null;
}

export type RequestedThing =
  | {
      readonly verb: 'restart-agent' | 'reinstall' | 'deprovision';
      readonly target: RequestTarget;
      /** How it is to leave its pools; null when absent. */
      readonly drain?: DrainMode | null;
      /** Of `deprovision`: its slot gets the next machine at once; no hold `no-allocate` keeps it free. */
      readonly returnToPool?: boolean;
    }
  | {
      readonly verb: 'reboot';
      readonly target: RequestTarget;
      readonly force: boolean;
      readonly drain?: DrainMode | null;
    }
  | {
      readonly verb: 'hold';
      readonly target: RequestTarget;
      readonly kind: HoldKind;
      /** Epoch ms; null: until it is taken away. */
      readonly untilMs: number | null;
      /** Of `no-serve`: though fewer members stay active than a pool is to have. */
      readonly force?: boolean;
    }
  | { readonly verb: 'unhold'; readonly target: RequestTarget; readonly kind: HoldKind }
  | { readonly verb: 'quarantine'; readonly target: RequestTarget; readonly untilMs: number | null }
  /** Ends a quarantine of any kind and the ladder's episode. */
  | {
      readonly verb: 'release';
      readonly target: RequestTarget;
      /** The pinned host key is wrong: pin the next one. */
      readonly forgetHostKey: boolean;
    }
  /**
   * `cancel-install` takes back what was not handed to the agent yet; `withdraw` an order of which
   * nothing was asked for yet.
   */
  | { readonly verb: 'clear-backoff' | 'cancel-install'; readonly target: RequestTarget }
  | {
      readonly verb: 'withdraw';
      readonly target: RequestTarget;
      /** Only the order of this key; whichever there is when absent. */
      readonly order?: string;
    }
  | { readonly verb: 'install'; readonly target: RequestTarget; readonly image: InstallImage }
  | { readonly verb: GuardVerb; readonly scope: 'fleet' | ProviderName }
  /** Ends the holds of a kind, and takes slots (by their ids) off the shelf, before their time. */
  | {
      readonly verb: ProviderVerb;
      readonly provider: ProviderName;
      readonly hold: ProviderHoldKind | null;
      readonly shelf: readonly string[];
    }
  /**
   * `pause-pool`: nothing is changed at the balancer. `resume-pool` ends a pause and a tear-down.
   * `thaw-pool` accepts what the panic guard froze. `teardown-pool` removes all of it from the balancer.
   * A `balancer` of null means all that the pool has.
   */
  | { readonly verb: PoolVerb; readonly pool: string; readonly balancer: string | null };

/** What is about no machine: the guard, a pool, or a provider as a whole. */
export type ThingAtLarge = Exclude<RequestedThing, { readonly target: RequestTarget }>;
