import type { BackoffDescriptor } from '../../../../domain/backoff.ts';
import { isLadder } from '../../../../domain/eligibility.ts';
import { NothingToDo, WorkConflict, WorkLost } from '../../../../domain/errors.ts';
import type { MachineId } from '../../../../domain/ids.ts';
import { PROCESSES } from '../../../../domain/machine.ts';
import type { MachineRow, Process } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import type { FailureEffects, FinishChange } from '../../port.ts';
import { ruleSql, FROM } from '../eligibility.ts';
import type { LiveSession } from '../live.ts';
import { madeOnce, statement } from '../statement.ts';

const mayAsk = (process: Process, loss: LossPolicy) =>
  statement({
    name: `may-ask-${process}`,
    params: { machine: 'uuid' },
    columns: { refusal: 'text?', permitted: 'bool' },
    text: ({ machine }) =>
      `WITH permit AS MATERIALIZED (
         SELECT 1 FROM recovery_permits WHERE machine_id = ${machine} FOR KEY SHARE
       )
       SELECT ${ruleSql('ask', process, loss)} AS refusal,
         ${isLadder(process) ? 'EXISTS (SELECT 1 FROM permit)' : 'true'} AS permitted
       ${FROM} WHERE m.machine_id = ${machine}`,
  });

/** Reads whether a process may still make its request for a machine, and if not, why. */
export const statementsFor = madeOnce(
  (loss: LossPolicy) =>
    Object.fromEntries(PROCESSES.map((process) => [process, mayAsk(process, loss)])) as Record<
      Process,
      ReturnType<typeof mayAsk>
    >,
);

/** Result of a claim: its epoch, and the machine's row at that time. */
export interface TakenClaim {
  readonly epoch: string;
  readonly row: MachineRow;
}

/** A held claim, as everything after the claim uses it. */
export interface HeldClaim extends TakenClaim {
  readonly session: LiveSession;
  readonly process: Process;
  readonly machineId: MachineId;
}

/** Identifies a claim, to find out its result. */
export type ClaimName = Pick<HeldClaim, 'process' | 'machineId' | 'epoch'>;

interface Ending {
  readonly held: HeldClaim;
  readonly cause: string | null;
}
export interface Finish extends Ending {
  readonly event: 'Finished';
  readonly change: FinishChange;
}
export interface Failure extends Ending {
  readonly event: 'Failed';
  readonly cause: string;
  readonly backoff: BackoffDescriptor;
  readonly also: FailureEffects;
}
export interface Cancel extends Ending {
  readonly event: 'Canceled';
}
/** How a work is to end. */
export type End = Finish | Failure | Cancel;

/**
 * Error for a machine that was not claimed.
 * @param refusal null: nothing forbids the claim, but another session was faster.
 */
export const refusalError = (process: Process, id: MachineId, refusal: string | null) =>
  refusal === null || refusal === 'it is being worked on'
    ? new WorkConflict(`another work runs on machine ${id}, so ${process} cannot claim it`)
    : new NothingToDo(`machine ${id} is not eligible for ${process}: ${refusal}`);

/** Another session holds the lease, or nobody does. */
export const workLost = ({ process, machineId, epoch }: ClaimName, cause?: unknown) =>
  new WorkLost(`${process} on ${machineId} (claim ${epoch}) is no longer ours`, { cause });

/** For messages: the machine's id, or the number of machines. */
export const describeMachines = (ids: readonly MachineId[]): string =>
  ids.length === 1 ? `machine ${ids[0]}` : `${ids.length} machines`;
