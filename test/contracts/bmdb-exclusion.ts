import { describe, expect, it } from 'vitest';
import { codeOf } from '../../src/domain/errors.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { PROCESSES } from '../../src/domain/machine.ts';
import type { Process } from '../../src/domain/machine.ts';
import { MINUTE, requestedAt } from './bmdb-rows.ts';
import type { BmdbStage } from './bmdb-stage.ts';

/** No two of these processes hold one machine. Any other process excludes only itself. */
const EXCLUSIVE: readonly Process[] = [
  'ShepherdAccess',
  'ShepherdAgentStart',
  'ShepherdRecovery',
  'ShepherdReinstall',
  'ShepherdDeprovision',
];
/** Processes that accept any machine. */
const UNCONDITIONAL: readonly Process[] = ['UnitTest1', 'UnitTest2', 'ShepherdAccess'];
/** A request to give a machine back ends all other work that depends on the machine's state. */
const isBarred = (first: Process, second: Process) =>
  !UNCONDITIONAL.includes(first) &&
  !UNCONDITIONAL.includes(second) &&
  (first === 'ShepherdDeprovision') !== (second === 'ShepherdDeprovision');
const exclude = (a: Process, b: Process) =>
  a === b || (EXCLUSIVE.includes(a) && EXCLUSIVE.includes(b));

export function exclusionContract(s: BmdbStage): void {
  /** A machine that the first process can claim, and the second one too if it were alone. */
  const machineFor = async (first: Process, second: Process): Promise<MachineId> => {
    const at = await s.now();
    const wanted = UNCONDITIONAL.includes(first) ? second : first;
    // Agent start gave up: recovery may take the machine, and another agent start may too.
    return s.add(
      wanted === 'ShepherdDeprovision'
        ? { deprovision: requestedAt(at) }
        : { startAttempt: { atMs: at - MINUTE, count: 6, unreached: 0 } },
    );
  };
  const attempt = async (second: Process, id: MachineId, worker: 'session' | 'rival') => {
    try {
      await (await s[worker].claim(second, id)).cancel();
      return 'beside';
    } catch (error) {
      return codeOf(error);
    }
  };

  describe('exclusion', () => {
    it.each(PROCESSES)('applies to %s and every process, in both sessions', async (first) => {
      const found: unknown[] = [];
      for (const second of PROCESSES) {
        const id = await machineFor(first, second);
        const work = await s.session.claim(first, id);
        const own = await attempt(second, id, 'session');
        const others = await attempt(second, id, 'rival');
        await work.cancel();
        const after = await attempt(second, id, 'rival');
        found.push({ second, own, others, after });
      }
      expect(found).toEqual(
        PROCESSES.map((second) => {
          const during = exclude(first, second) ? 'work-conflict' : 'beside';
          const after = isBarred(first, second) ? 'nothing-to-do' : 'beside';
          return { second, own: during, others: during, after };
        }),
      );
    });
  });
}
