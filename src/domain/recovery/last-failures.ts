import type { MachineRow, Process } from '../machine.ts';
import { visibleText } from '../texts.ts';

const CAUSE_MAX = 300;
/** What a person who is called wants to know of. */
const TOLD: readonly (readonly [Process, string])[] = [
  ['ShepherdRecovery', 'recovery'],
  ['ShepherdReinstall', 'reinstallation'],
  ['ShepherdAgentStart', 'agent start'],
];

/** What failed last on a machine, for people; null: nothing since its agent was started. */
export function lastFailures({ backoffs }: Pick<MachineRow, 'backoffs'>): string | null {
  const told = TOLD.flatMap(([process, name]) => {
    const cause = backoffs.find((each) => each.process === process)?.cause;
    return cause === undefined ? [] : [`last failure of ${name}: ${visibleText(cause, CAUSE_MAX)}`];
  });
  return told.length === 0 ? null : told.join('; ');
}
