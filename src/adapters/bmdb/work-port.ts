import type { BackoffDescriptor } from '../../domain/backoff.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { MachineRow, Process, QuarantineKind } from '../../domain/machine.ts';
import type { StandingRung } from '../../domain/recovery/rungs.ts';

/**
 * One claimed machine. Exactly one of finish, fail, cancel ends it; each deletes the work row and
 * writes history in one transaction, and resolves a commit whose outcome was lost.
 */
export interface Work {
  readonly process: Process;
  readonly machineId: MachineId;
  readonly epoch: string;
  /** The signal of the session that owns the work: every effect on the machine must obey it. */
  readonly signal: AbortSignal;
  /** The row at the claim. */
  readonly row: MachineRow;
  /**
   * Durable notes while working, written before the effect they announce.
   * @throws {WorkLost} the work row is no longer ours.
   * @throws {NothingToDo} `recoveryAsked`: the machine came back, was parked or put under a hold since
   *   the claim. `deprovisionAsked`: the request was taken back, or a hold preserves the machine.
   *   Nothing was written and nothing may be asked; cancel the work.
   *   `controllerResetAsked` is like `recoveryAsked` in this.
   * @throws {Throttled} `controllerResetAsked`: less than `CONTROLLER_RESET_MS` ago the controller was
   *   restarted, whichever machine it was for.
   * @throws {NoPermit} `recoveryAsked` and the like: the fleet or the provider is frozen, or the
   *   budget has no room for one more machine that is interrupted. Nothing was written; cancel the work.
   */
  note(note: WorkNote): Promise<void>;
  /**
   * @throws {WorkLost} nothing was written.
   * @throws {NothingToDo} `recovered` of which nothing was asked for: the machine came back, was
   *   parked or put under a hold since the claim. Nothing was written; cancel the work.
   * @throws {AlreadyFinished} a second finish or fail.
   */
  finish(change: FinishChange): Promise<void>;
  /** History Failed, and the next backoff from `backoff` and the row's last interval. */
  fail(backoff: BackoffDescriptor, cause: string, also?: FailureEffects): Promise<void>;
  /**
   * History Canceled. No-op once ended; never throws. When it did not come through, the work is held
   * until its session dies, and may be ended once more.
   */
  cancel(cause?: string): Promise<void>;
}

export interface Quarantine {
  readonly kind: QuarantineKind;
  readonly reason: string;
}

/** What a failure brings about besides its backoff, in the same transaction. */
export interface FailureEffects {
  readonly quarantine?: Quarantine;
  /** Key of the order that this was: it is refused with the cause, and the ladder stays as it is. */
  readonly order?: string;
  /**
   * The ladder's own attempt that failed before anything was asked for. It counts on that rung; null: it
   * said nothing of the machine.
   */
  readonly unasked?: { readonly countsOn: StandingRung | null };
  /**
   * Agent start: the machine could not be reached or did not let us in. When it is so with many,
   * the guard takes it for our own fault.
   */
  readonly unreachable?: boolean;
  /** Agent start: nothing of the attempt came to the machine, so it says nothing of it. */
  readonly unreached?: boolean;
}

export type WorkNote =
  /**
   * Agent start, before the agent is executed: upserts `machine_agent_start_attempt`. A host key that
   * was proved is pinned from now on.
   */
  | { readonly kind: 'agentStartAttempt'; readonly hostKey?: string }
  /**
   * Recovery, before anything is asked of the machine or the provider: asked now, with what is known
   * from before. Of the ladder's own: its rung, attempts + 1. Of an order: the ladder stays. Whatever
   * interrupts the machine is given a permit here, which every end of the work returns; but a cancelled
   * work keeps it while its request may still come true.
   * `reinstalling` also forgets the pinned host key; of `powerCycling` it stays known, until
   * `powerOnAccepted`, that the machine may be switched off. Where nobody knows whether the provider
   * took the request, nothing more is said of it: it may have been carried out, so it counts.
   */
  | {
      readonly kind: 'recoveryAsked';
      readonly rung: StandingRung;
      readonly bootId: string | null;
      /** Key of the order that this is. */
      readonly order?: string;
    }
  /**
   * Recovery, before the machine's controller is restarted: asked now. Of the ladder nothing changes,
   * nor of the machine.
   */
  | { readonly kind: 'controllerResetAsked'; readonly controller: string }
  /** The provider refused that for certain: it may be asked again at once. */
  | { readonly kind: 'controllerResetRefused'; readonly controller: string }
  /** The machine is beyond reach: what is still waited for interrupts nothing more. */
  | { readonly kind: 'permitReturned' }
  /** Power cycling: the power was seen off. */
  | { readonly kind: 'powerSeenOff' }
  /** The provider accepted to switch it on: nothing of ours keeps it off any more. */
  | { readonly kind: 'powerOnAccepted' }
  /**
   * Recovery, after the provider refused for certain: nothing is under way. `counts` false: it said
   * nothing of the machine (no connection, throttled), so the attempt is taken back.
   */
  | { readonly kind: 'recoveryRefused'; readonly counts: boolean }
  /** Deprovision, before the provider is asked: attempts + 1, asked now. */
  | { readonly kind: 'deprovisionAsked' }
  /** Recovery, after the provider accepted. */
  | { readonly kind: 'recoveryAccepted'; readonly operationRef: string };

export type FinishChange =
  /** AgentStarted now; deletes the older heartbeat and the start attempt; pins the host key. */
  | {
      readonly kind: 'agentStarted';
      readonly publicKey: Uint8Array;
      readonly bootId: string | null;
      readonly hostKey: string | null;
      readonly warnings: readonly string[];
    }
  /**
   * Deletes AgentStarted, heartbeat and start attempt, gives the permit back, and sets the ladder's
   * `next_at` from `coolDown`, so that a machine lost again soon is not recovered at once.
   */
  | {
      readonly kind: 'recovered';
      readonly coolDown: BackoffDescriptor;
      /** How long the proof took since the request, to be remembered; null: not a boot. */
      readonly bootSeconds: number | null;
      /** Key of the order that this was: it is done, and the ladder stays as it is. */
      readonly order?: string;
      /** Nothing was asked for in this attempt: it may also have come back by itself. */
      readonly unasked?: true;
    }
  /**
   * Deprovision: the machine, its tags, backoffs and leases are deleted; its histories stay. Without
   * `bar` the slot is free for another machine. Whatever other work there is on it is cancelled. Whether the
   * request still stands is not asked: the device is gone. Of this process only.
   *
   * `bar`: nothing is made on the slot from now on, until somebody takes the hold away; a longer hold
   * of the same kind stays. `remark` goes into the slot's log.
   */
  | {
      readonly kind: 'deprovisioned';
      readonly bar?: { readonly setBy: string; readonly reason: string };
      readonly remark?: string;
    }
  /** For tests of the machinery itself (processes UnitTest1 and UnitTest2): no tags change. */
  | { readonly kind: 'nothing' };
