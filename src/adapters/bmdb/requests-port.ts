import type { DrainMode, GuardVerb, HoldKind, PoolVerb, RequestRow } from '../../domain/machine.ts';
import type { MachineId, ProviderName } from '../../domain/ids.ts';
import type { InstallImage } from '../../domain/requests.ts';

/** What operators ask for: committed here, carried out by whichever daemon sees it first. */
export interface RequestBook {
  /**
   * Commits a request. Asking twice with one key is asking once: the answer is how the first stands.
   * @throws {UsageError} the key was used for something else, or a value makes no sense.
   * @throws {NotFound} there is no such machine, and the verb is about one.
   * @throws {NothingToDo} an order of this machine is open already; it names whose.
   */
  file(request: NewRequest): Promise<RequestState>;
  /** How requests stand; unknown keys are left out. */
  read(keys: readonly string[], signal: AbortSignal): Promise<readonly RequestState[]>;
  /** What was asked, newest first, settled ones too. */
  list(
    query: { readonly provider?: ProviderName; readonly slotId?: string; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly RequestState[]>;
}

/** A request as an operator makes it. Texts are cleaned and capped on the way in. */
export interface NewRequest {
  /** 1–200 printable characters, chosen by who asks. */
  readonly key: string;
  readonly by: string;
  readonly reason: string;
  /** After this it is refused; an hour when absent. */
  readonly validForMs?: number;
  readonly what: RequestedThing;
}

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
  | {
      readonly verb: 'clear-backoff' | 'cancel-install' | 'withdraw';
      readonly target: RequestTarget;
    }
  | { readonly verb: 'install'; readonly target: RequestTarget; readonly image: InstallImage }
  | { readonly verb: GuardVerb; readonly scope: 'fleet' | ProviderName }
  /**
   * `pause-pool`: nothing is changed at the balancer. `resume-pool` ends a pause and a tear-down.
   * `thaw-pool` accepts what the panic guard froze. `teardown-pool` removes all of it from the balancer.
   * A `balancer` of null means all that the pool has.
   */
  | { readonly verb: PoolVerb; readonly pool: string; readonly balancer: string | null };

export interface RequestState extends RequestRow {
  readonly state: 'open' | 'done' | 'refused';
  /** What became of it, for people; null while open. */
  readonly outcome: string | null;
  readonly settledAtMs: number | null;
}
