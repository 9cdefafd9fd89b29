import { beforeEach, expect, test } from 'vitest';
import { createOrphanWatch, type TaskPool } from '../../../src/actors/turns/task-pool.ts';
import type { SessionKeeper } from '../../../src/actors/session-keeper.ts';
import type { BmdbSession } from '../../../src/adapters/bmdb/port.ts';
import { machineId, sessionId, slot as nameSlot, type Slot } from '../../../src/domain/ids.ts';
import type { LiveWork, SlotFacts } from '../../../src/domain/machine.ts';
import { machineRow } from '../../contracts/bmdb-rows.ts';
import { recordingLog } from '../../doubles/recording-log.ts';

const SELF = sessionId('00000000-0000-4000-8000-000000000001');
const OTHER = sessionId('00000000-0000-4000-8000-000000000002');
const MACHINE = machineId('00000000-0000-4000-8000-00000000000a');
const SLOT = nameSlot('metal', 'a');

let released: unknown[];
let held: Set<Slot>;
let look: (...work: readonly Partial<LiveWork>[]) => Promise<void>;
beforeEach(() => {
  released = [];
  held = new Set();
  const session = {
    sessionId: SELF,
    releaseWork: async (...named: unknown[]) => void released.push(named),
  } as Partial<BmdbSession> as BmdbSession;
  const watch = createOrphanWatch({
    keeper: { current: () => session } as Partial<SessionKeeper> as SessionKeeper,
    taskPool: { holds: (slot) => held.has(slot) } as Partial<TaskPool> as TaskPool,
    log: recordingLog(),
  });
  look = (...work) => watch(factsOf(work));
});

function factsOf(work: readonly Partial<LiveWork>[]): ReadonlyMap<Slot, SlotFacts> {
  const ours = { process: 'ShepherdAgentStart', sessionId: SELF, startedAtMs: 0 } as const;
  const row = machineRow(0, {
    machineId: MACHINE,
    work: work.map((each) => ({ ...ours, epoch: '1', ...each })),
  });
  const facts = { slot: SLOT, row } as Partial<SlotFacts> as SlotFacts;
  return new Map([[SLOT, facts]]);
}

test('work that nobody holds is released when it is found twice, by its epoch', async () => {
  await look({ epoch: '7' });
  expect(released).toEqual([]);
  await look({ epoch: '7' });
  expect(released).toEqual([[MACHINE, '7']]);
});

test('a later claim of the same machine is another one', async () => {
  await look({ epoch: '7' });
  await look({ epoch: '8' });
  expect(released).toEqual([]);
});

test('neither work that a turn holds is released, nor that of others, nor tests', async () => {
  held.add(SLOT);
  await look({});
  await look({});
  held.clear();
  const foreign = [{ sessionId: OTHER }, { process: 'UnitTest1' }] as const;
  await look(...foreign);
  await look(...foreign);
  expect(released).toEqual([]);
});
