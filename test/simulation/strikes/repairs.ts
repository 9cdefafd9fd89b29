import type { NewRoll, RollControl } from '../../../src/adapters/bmdb/port.ts';
import { explain } from '../../../src/domain/errors.ts';
import { targetOf } from '../../contracts/requests-of.ts';
import type { Simulation } from '../simulation.ts';
import { ask, askOf, hostAt } from '../targets.ts';
import { between, figures, lasting, MINUTE, minutes, pick, type StrikeKindSpec } from './kind.ts';

/** Memory that every machine must have, in GiB. */
export const MEMORY_GIB = 64;
const ACTIONS = ['reboot', 'restart-agent', 'restart-agent', 'reinstall'] as const;

/** Something that a person asks the database for. The story tells what it refuses. */
const attempt = ({ recorder }: Simulation, what: string, done: Promise<unknown>): string => {
  done.catch((error: unknown) => recorder.note(`refused ${what}: ${explain(error)}`));
  return what;
};

/** What people do in planned work and in repairs, and acceptances that go wrong. */
export const REPAIRS = {
  'operator-rolls': {
    perHour: 0.8,
    draw: (random) => ({
      ...figures('action', 'share', 'stop', 'drain')(random),
      ...{ batch: between(random, 1, 4), canary: between(random, 0, 2) },
      pauseMs: between(random, 0, 5 * MINUTE),
    }),
    strike(simulation, { action: at, share, stop, drain, batch, canary, pauseMs }) {
      const { rolls, tables } = simulation.world.bmdb;
      const rows = [...tables.machines.values()].flatMap(({ row }) => (row.provided ? [row] : []));
      const chosen = rows.slice(0, Math.ceil(share! * rows.length));
      if (chosen.length === 0) return null;
      const id = `roll-${tables.rolls.size + 1}`;
      const roll: NewRoll = {
        ...{ id, action: pick(ACTIONS, at!), filter: 'provider:stub', reason: 'simulation' },
        slots: chosen.map((row) => ({ ...targetOf(row), machineId: row.machineId })),
        drain: pick(['skip', null] as const, drain!),
        ...{ canary: canary!, batch: batch!, pauseMs: pauseMs!, stopOnFailure: stop! < 0.6 },
        ...{ by: 'ann', role: 'operator', proven: true },
      };
      const what = `${roll.action} of ${chosen.length} machines, ${batch} at once, as roll ${id}`;
      return attempt(simulation, what, rolls.create(roll));
    },
  },
  'operator-controls-roll': {
    perHour: 0.8,
    draw: lasting(MINUTE, 40 * MINUTE, 'verb', 'end'),
    strike(simulation, { verb, end, forMs }) {
      const { rolls, tables } = simulation.world.bmdb;
      const roll = [...tables.rolls.values()].findLast(({ state }) => state === 'running');
      if (!roll) return null;
      const control = (what: RollControl) =>
        attempt(simulation, `${what} of roll ${roll.id}`, rolls.control(roll.id, what, 'ann'));
      if (verb! < 0.3) return control('abort');
      const then = end! < 0.7 ? 'resume' : 'abort';
      simulation.later(() => void control(then), forMs!);
      return `${control('pause')}, ${then} after ${minutes(forMs!)}`;
    },
  },
  /** A person works on the newest open case, and closes it in the end. */
  'case-is-worked-on': {
    perHour: 1,
    draw: lasting(MINUTE, 60 * MINUTE, 'end'),
    strike(simulation, { end, forMs }) {
      const { cases, tables } = simulation.world.bmdb;
      const open = tables.cases.findLast(({ closedAtMs }) => closedAtMs === null);
      if (!open) return null;
      const { caseId, slotId, machineId } = open;
      const note = { kind: 'note', caseId, author: 'ann', text: 'a part is ordered' } as const;
      void attempt(simulation, `note of case ${caseId}`, cases.addLine(note));
      simulation.later(() => {
        const done = { by: 'ann', outcome: 'the part was replaced' };
        void attempt(simulation, `close of case ${caseId}`, cases.close(caseId, done));
        if (end! > 0.5 || machineId === null) return;
        const to = { provider: open.provider, slotId, machineId };
        void ask(simulation, { verb: 'release', target: to, forgetHostKey: false });
      }, forMs!);
      return `case ${caseId} of ${slotId}, closed after ${minutes(forMs!)}`;
    },
  },
  /** Its memory is broken, or its agent cannot check it; a person has it checked before and after. */
  'acceptance-fails': {
    perHour: 0.5,
    draw: lasting(5 * MINUTE, 60 * MINUTE, 'how', 'again'),
    strike(simulation, { which, how, again, forMs }) {
      const found = hostAt(simulation, which!);
      if (!found) return null;
      const { machine } = found;
      const accept = () => void askOf(simulation, which!, (to) => ({ verb: 'accept', target: to }));
      machine.memoryGiB = how! < 0.7 ? MEMORY_GIB / 2 : null;
      if (again! < 0.8) accept();
      simulation.later(() => {
        machine.memoryGiB = MEMORY_GIB;
        accept();
      }, forMs!);
      const what = machine.memoryGiB === null ? 'answers no acceptance' : 'lacks memory';
      return `${found.address} ${what} for ${minutes(forMs!)}`;
    },
  },
} satisfies Record<string, StrikeKindSpec>;
