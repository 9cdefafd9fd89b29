import { createMemBmdb, type MemBmdb } from '../doubles/mem-bmdb/mem-bmdb.ts';
import { newMachine } from '../doubles/mem-bmdb/tables.ts';
import {
  createSeededRandom,
  createSimulatedClock,
  type VirtualClock,
} from '../doubles/simulated-clock.ts';
import { assembleFacts } from '../../src/domain/assemble.ts';
import { askedOf, machinesMeant } from '../../src/domain/submission/selection.ts';
import type { SelectedRequest, Selector } from '../../src/domain/submission/selection.ts';
import { slotOfRow, type NamedFleet } from '../../src/domain/submission/named-fleet.ts';
import type { MachineVerb } from '../../src/domain/verbs.ts';
import { viewOf } from '../../src/domain/view.ts';
import type { GivenRequest } from '../../src/domain/operator-request.ts';

/** What is asked of a machine. */
type VerbInput = GivenRequest<MachineVerb>;
import { machineId, type MachineId } from '../../src/domain/ids.ts';
import type { MachineRow } from '../../src/domain/machine.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { emptyRow } from '../doubles/mem-bmdb/tables.ts';
import { KEY_HEX, PROVIDER, providedOf } from '../contracts/bmdb-rows.ts';

export const idOf = (at: number): MachineId =>
  machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);

/** A BMDB in memory, in virtual time. */
export type MachineStand = ReturnType<typeof machineStand>;

/** What happens in a BMDB in memory while something is asked of it. */
export function fleetIn(bmdb: MemBmdb, clock: VirtualClock) {
  return {
    /** Puts machine `at` on slot `metal/slot-<at>`, with an agent that was just heard. */
    add: (at: number, change: Partial<MachineRow> = {}): MachineId => {
      const id = idOf(at);
      const nowMs = clock.now();
      const row: MachineRow = {
        ...emptyRow(id, nowMs),
        provided: providedOf(String(at), { reservationId: `slot-${at}` }),
        agentStarted: { atMs: nowMs - 60_000, publicKey: KEY_HEX, bootId: 'boot-1' },
        heartbeat: { atMs: nowMs, bootId: 'boot-1' },
        ...change,
      };
      bmdb.tables.machines.set(id, newMachine(row));
      bmdb.tables.touch(id);
      return id;
    },
    /** From now on somebody settles whatever can be settled. */
    daemon: async () => {
      const session = await bmdb.openSession({
        component: 'shepherd',
        runtimeInfo: 'host test',
        intervalMs: 86_400_000,
      });
      const applyAll = async () => {
        const { requests } = await bmdb.scan(new AbortController().signal);
        for (const { key } of requests) await session.applyRequest(key);
      };
      bmdb.wakes$.subscribe(() => void applyAll());
      return session;
    },
    /** Lets time pass until it ends. */
    driven: async <T>(task: Promise<T>): Promise<T> => {
      let ended = false;
      const end = () => (ended = true);
      task.then(end, end);
      for (let steps = 0; !ended; steps++) {
        if (steps > 100_000) throw new Error('it never ends');
        await new Promise(setImmediate);
        if (!ended) clock.increment(50);
      }
      return task;
    },
  };
}

/** The machines as people name them. */
async function fleetOf(bmdb: MemBmdb): Promise<NamedFleet> {
  const read = await bmdb.scan(new AbortController().signal);
  const moment = { nowMs: read.nowMs, loss: DEFAULT_LOSS };
  const entries = [...assembleFacts(read, new Map()).values()].map((facts) => ({
    ...{ facts, view: viewOf(facts, moment) },
    rows: read.machines.filter((row) => slotOfRow(row) === facts.slot),
  }));
  return {
    entries: entries.toSorted((a, b) => (a.facts.slot < b.facts.slot ? -1 : 1)),
    bySlot: new Map(entries.map((entry) => [entry.facts.slot, entry])),
    machine: (id) => read.machines.find(({ machineId: own }) => own === id) ?? null,
    providers: ['metal'],
  };
}

export function machineStand() {
  const clock = createSimulatedClock();
  const random = createSeededRandom(1);
  const bmdb = createMemBmdb({ clock, random, loss: DEFAULT_LOSS, budget: DEFAULT_BUDGET });
  const { signal } = new AbortController();
  const fleet = fleetIn(bmdb, clock);
  const meant = async (
    wish: VerbInput,
    selector: Selector,
    key: string = random.uuid(),
  ): Promise<readonly SelectedRequest[]> => {
    const selected = machinesMeant(await fleetOf(bmdb), wish, selector);
    return askedOf(wish, selected, { key, several: selector.name === undefined });
  };
  return {
    ...{ bmdb, clock, random, signal },
    ...fleet,
    /** What a wish asks of the machines that the selector means; nothing is submitted. */
    meant,
    /** Ann files the wish for one machine, by its id or slot; the daemon, if there is one, settles it. */
    async submit(wish: VerbInput, name: string): Promise<void> {
      const [asked] = await meant(wish, { name });
      const { key, what } = asked!;
      await bmdb.requests.submit({ key, by: 'ann', reason: 'because', what });
      await fleet.driven(new Promise((settled) => clock.setTimeout(() => settled(null), 100)));
    },
  };
}

/** Slot of the machine with this number. */
export const slotName = (at: number): string => `${PROVIDER}/slot-${at}`;
