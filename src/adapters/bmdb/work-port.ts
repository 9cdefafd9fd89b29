import type { BackoffDescriptor } from '../../domain/backoff.ts';
import type { MachineId } from '../../domain/ids.ts';
import type { MachineRow, Process, QuarantineCause, QuarantineKind } from '../../domain/machine.ts';
import type { StandingRung } from '../../domain/recovery/rungs.ts';

/**
 * One claimed machine. Exactly one of finish, fail and cancel ends it. Each deletes the work row
 * and writes history in one transaction. Each also determines the result of a commit whose reply
 * was lost.
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
   * Writes a durable note during the work, before the effect that it announces.
   * @throws {WorkLost} the work row is no longer ours.
   * @throws {NothingToDo} `recoveryAsked`, `controllerResetAsked`: since the claim, the machine
   *   came back, was quarantined or put under a hold. `deprovisionAsked`: the request was
   *   withdrawn, or a hold preserves the machine. Nothing was written and nothing may be requested;
   *   cancel the work.
   * @throws {Throttled} `controllerResetAsked`: the controller was reset less than
   *   `CONTROLLER_RESET_MS` ago, for whichever machine.
   * @throws {NoPermit} `recoveryAsked` and similar: the fleet or the provider is frozen, or the
   *   budget has no room for one more interrupted machine. Nothing was written; cancel the work.
   */
  note(note: WorkNote): Promise<void>;
  /**
   * @throws {WorkLost} nothing was written.
   * @throws {NothingToDo} `recovered` without any request: since the claim, the machine came back,
   *   was quarantined or put under a hold. Nothing was written; cancel the work.
   * @throws {AlreadyFinished} a second finish or fail.
   */
  finish(change: FinishChange): Promise<void>;
  /** Writes Failed, and the next backoff from `backoff` and the row's last interval. */
  fail(backoff: BackoffDescriptor, cause: string, also?: FailureEffects): Promise<void>;
  /**
   * Writes Canceled to the history. Does nothing once ended; never throws. If the cancellation
   * fails, the work is held until its session dies, and may be ended again.
   */
  cancel(cause?: string): Promise<void>;
}

export interface Quarantine {
  readonly kind: QuarantineKind;
  readonly reason: string;
  /** Absent: heartbeats may end it, if `kind` is `needsHuman`. */
  readonly cause?: QuarantineCause | null;
  /**
   * Also retires the slot, unless an operator quarantined the machine meanwhile; `cause` is then
   * `retired`. `giveBack`: the machine is also given back, unless a hold preserves it.
   */
  readonly retires?: 'keep' | 'giveBack';
}

/** Further effects of a failure besides its backoff, in the same transaction. */
export interface FailureEffects {
  readonly quarantine?: Quarantine;
  /** Key of the order that failed: it is refused with the cause, and the ladder stays as it is. */
  readonly order?: string;
  /**
   * The ladder's own attempt failed before any request. It counts on that rung; null: the failure
   * says nothing about the machine.
   */
  readonly unasked?: { readonly countsOn: StandingRung | null };
  /**
   * Agent start: the machine could not be reached or did not let us in. If that happens with many
   * machines, the guard suspects a fault on our side.
   */
  readonly unreachable?: boolean;
  /** Agent start: nothing reached the machine, so the failure says nothing about it. */
  readonly unreached?: boolean;
}

export type WorkNote =
  /**
   * Agent start, before the agent runs: upserts `machine_agent_start_attempt`. A proved host key is
   * pinned from now on.
   */
  | { readonly kind: 'agentStartAttempt'; readonly hostKey?: string }
  /**
   * Recovery, before any request to the machine or the provider: records the time, and facts known
   * from before. For the ladder's own request: its rung, attempts + 1. For an order, the ladder
   * stays. A request that interrupts the machine gets a permit here, which every end of the work
   * returns. A cancelled work keeps it while its request may still take effect. `reinstalling` also
   * forgets the pinned host key. After `powerCycling` the machine counts as possibly off until
   * `powerOnAccepted`. If it is unknown whether the provider accepted the request, no further note
   * follows: the request may have been carried out, so it counts.
   */
  | {
      readonly kind: 'recoveryAsked';
      readonly rung: StandingRung;
      readonly bootId: string | null;
      /** Key of the order that this request carries out. */
      readonly order?: string;
    }
  /**
   * Recovery, before a reset of the machine's controller: records the time. Changes neither the
   * ladder nor the machine.
   */
  | { readonly kind: 'controllerResetAsked'; readonly controller: string }
  /** The provider definitely refused the reset: it may be requested again at once. */
  | { readonly kind: 'controllerResetRefused'; readonly controller: string }
  /** The machine is out of reach: pending requests interrupt nothing more. */
  | { readonly kind: 'permitReturned' }
  /** Power cycling: the power was seen off. */
  | { readonly kind: 'powerSeenOff' }
  /** The provider accepted the power-on: no request of ours keeps the power off. */
  | { readonly kind: 'powerOnAccepted' }
  /**
   * Recovery, after the provider definitely refused: nothing is under way. `counts` false: the
   * refusal says nothing about the machine (no connection, throttled), so the attempt is taken
   * back.
   */
  | { readonly kind: 'recoveryRefused'; readonly counts: boolean }
  /** Deprovision, before the request to the provider: attempts + 1, records the time. */
  | { readonly kind: 'deprovisionAsked' }
  /** Recovery, after the provider accepted. */
  | { readonly kind: 'recoveryAccepted'; readonly operationRef: string };

export type FinishChange =
  /** The agent has started; deletes the old heartbeat and start attempt; pins the host key. */
  | {
      readonly kind: 'agentStarted';
      readonly publicKey: Uint8Array;
      readonly bootId: string | null;
      readonly hostKey: string | null;
      readonly warnings: readonly string[];
    }
  /**
   * Deletes the agent's start, heartbeat and start attempt, and returns the permit. Sets the
   * ladder's `next_at` from `coolDown`, so that a machine lost again soon is not recovered at once.
   */
  | {
      readonly kind: 'recovered';
      readonly coolDown: BackoffDescriptor;
      /** Time from request to proof, which is remembered; null if there was no boot. */
      readonly bootSeconds: number | null;
      /** Key of the order that this work carried out: it is done, and the ladder stays as it is. */
      readonly order?: string;
      /** This attempt made no request: the machine may also have come back by itself. */
      readonly unasked?: true;
    }
  /**
   * Deprovision: deletes the machine with its tags, backoffs and leases; its histories stay.
   * Without `bar` the slot is free for another machine. Other work on the machine is cancelled.
   * Does not check whether the request still stands, because the device is gone. For this process
   * only.
   *
   * `bar`: nothing is created on the slot until somebody lifts the hold; a longer hold of the same
   * kind stays. `remark` goes into the slot's log.
   */
  | {
      readonly kind: 'deprovisioned';
      readonly bar?: { readonly setBy: string; readonly reason: string };
      readonly remark?: string;
    }
  /** For tests of the machinery itself (processes UnitTest1 and UnitTest2): no tags change. */
  | { readonly kind: 'nothing' };
