import { isLadder } from '../../../../domain/eligibility.ts';
import type { Process } from '../../../../domain/machine.ts';
import { PROCESSES } from '../../../../domain/machine.ts';
import type { LossPolicy } from '../../../../domain/policy.ts';
import { askRefusalSql, FROM } from '../eligibility.ts';
import { statement } from '../statement.ts';

const mayAsk = (process: Process, loss: LossPolicy) =>
  statement({
    name: `may-ask-${process}`,
    params: { machine: 'uuid' },
    columns: { refusal: 'text?', permitted: 'bool' },
    text: ({ machine }) =>
      `WITH permit AS MATERIALIZED (
         SELECT 1 FROM recovery_permits WHERE machine_id = ${machine} FOR KEY SHARE
       )
       SELECT ${askRefusalSql(process, loss)} AS refusal,
         ${isLadder(process) ? 'EXISTS (SELECT 1 FROM permit)' : 'true'} AS permitted
       ${FROM} WHERE m.machine_id = ${machine}`,
  });
/** Tells whether a request may still be made of a machine, and if not, why. */
export type MayAsk = ReturnType<typeof mayAsk>;
export type NoteStatements = ReturnType<typeof statementsFor>;

/** Whether a request may still be made, by the process that is about to. */
export const statementsFor = (loss: LossPolicy): Record<Process, MayAsk> =>
  Object.fromEntries(PROCESSES.map((process) => [process, mayAsk(process, loss)])) as Record<
    Process,
    MayAsk
  >;
