import { beforeEach, describe, expect, test } from 'vitest';
import { createMirrorState } from '../../../src/actors/mirror/state.ts';
import type { BmdbSnapshot } from '../../../src/adapters/bmdb/port.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { machineId, type MachineId } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../../src/domain/policy.ts';
import type { SlotNews } from '../../../src/machines/fleet.ts';
import { NOTHING_READ } from '../../doubles/scripted-bmdb.ts';
import { machineRow, PROVIDER, provided } from '../../support/facts.ts';

const BEGAN_MS = 1_700_000_000_000;
/** Each look at the clock advances it, so that every slice ends as early as possible. */
let now: number;
let pauses: (() => void)[];
let news: SlotNews[];
let state: ReturnType<typeof createMirrorState>;
beforeEach(() => {
  [now, pauses, news] = [BEGAN_MS, [], []];
  state = createMirrorState({
    loss: DEFAULT_LOSS,
    providers: { has: () => true },
    acceptance: { [PROVIDER]: { required: true } },
    clock: {
      now: () => now,
      monotonic: () => (now += 2),
      setTimeout: (fn, delayMs) => (delayMs === 0 ? pauses.push(() => fn()) : 0),
      clearTimeout: () => undefined,
    },
    log: silentLog,
    onFacts: () => undefined,
    onView: () => undefined,
    onVanished: () => undefined,
  });
  state.start((each) => news.push(...each));
});

const idOf = (at: number): MachineId =>
  machineId(`00000000-0000-4000-8000-${String(at).padStart(12, '0')}`);
const rowOf = (at: number): MachineRow => ({
  ...machineRow(),
  machineId: idOf(at),
  provided: { ...provided(), provider: PROVIDER, providerId: `d${at}`, reservationId: `r${at}` },
  agentStarted: { atMs: BEGAN_MS, publicKey: 'key', bootId: null },
});
const MACHINES = 5;
const scan = (count = MACHINES): BmdbSnapshot => ({
  ...{ ...NOTHING_READ, nowMs: now, version: now },
  machines: Array.from({ length: count }, (_, at) => rowOf(at)),
});
const forever = new AbortController().signal;
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));
/** Takes a scan; calls `between` in each pause. */
async function take(rows: BmdbSnapshot, between = () => undefined as void, signal = forever) {
  const taken = state.take({ kind: 'scan', beganAtMs: now, rows }, signal);
  let isOver = false;
  const end = () => (isOver = true);
  taken.then(end, end);
  for (await turn(); !isOver; await turn()) {
    between();
    for (const go of pauses.splice(0)) go();
  }
  return taken;
}
const heardAt = (at: number) =>
  [...state.facts.values()].find(({ row }) => row?.machineId === idOf(at))?.row?.heartbeat?.atMs;

/** Pauses until then: one per read row, and one per known row. */
const ROWS_ARE_LOOKED_UP_BY = 2 * MACHINES + 2;

describe('a read taken in slices', () => {
  test('keeps a heartbeat that arrives meanwhile', async () => {
    await take(scan());
    // Another listing: everything is assembled again from rows that were looked up before.
    state.stage(PROVIDER, { machines: [], complete: true });
    state.adoptListings();
    const heard = new Map<number, number>();
    let count = 0;
    await take(scan(), () => {
      count += 1;
      const [at, atMs] = [count - ROWS_ARE_LOOKED_UP_BY, now];
      if (at < 0 || at >= MACHINES) return;
      state.hear({ machineId: idOf(at), atMs, bootId: null });
      heard.set(at, atMs);
    });
    expect(heard.size).toBe(MACHINES);
    for (const [at, atMs] of heard) expect(heardAt(at)).toBe(atMs);
  });

  test('takes a machine that is not accepted out of its pools, and lets an accepted one in', async () => {
    const acceptance = {
      ...{ state: 'due', cause: 'first', held: true, reason: '' },
      ...{ askedAtMs: now, handedOutAtMs: null, endedAtMs: null },
    };
    const withState = (change: object) => {
      const read = scan(1);
      const row = { ...read.machines[0]!, acceptance: { ...acceptance, ...change } };
      return { ...read, machines: [row] };
    };
    const kinds = () =>
      [...state.facts.values()].flatMap(({ holds }) => holds.map((each) => each.kind));
    await take(scan(1));
    expect(kinds()).toEqual([]);
    for (const [change, expected] of [
      [{}, ['no-serve']],
      [{ state: 'passed' }, []],
      [{ state: 'failed' }, ['no-serve']],
    ] as const) {
      await take(withState(change));
      expect(kinds()).toEqual(expected);
    }
    state.stage(PROVIDER, { machines: [], complete: true });
    state.adoptListings();
    await take(withState({ state: 'failed' }));
    expect(kinds(), 'after everything was assembled again').toEqual(['no-serve']);
  });

  test('reports a vanished machine after everything was taken in', async () => {
    await take(scan());
    news.length = 0;
    await take(scan(MACHINES - 1), () => {
      if (state.facts.size === MACHINES) expect(news.filter(isEnd)).toEqual([]);
    });
    expect(news.filter(isEnd)).toHaveLength(1);
  });

  test('leaves the clock estimate alone when it took long', async () => {
    await take(scan());
    const offsetMs = state.nowMs() - now;
    const begun = { beganAtMs: now, rows: scan() };
    now += 5_000;
    const taken = state.take({ kind: 'scan', ...begun }, forever);
    expect(Math.abs(state.nowMs() - now - offsetMs)).toBeLessThan(100);
    for (let turns = 0; turns < 1_000; turns += 1) {
      for (const go of pauses.splice(0)) go();
      await Promise.resolve();
    }
    await taken;
  });

  test('is made up for by the next read when it was aborted', async () => {
    const stopping = new AbortController();
    const broken = take(
      scan(),
      () => {
        if (state.facts.size > 0) stopping.abort(new Error('stopped'));
      },
      stopping.signal,
    );
    await expect(broken).rejects.toThrow('stopped');
    await take(scan());
    expect(state.facts.size).toBe(MACHINES);
    const told = new Set(news.map((each) => (each.type === 'observed' ? each.view.slot : null)));
    expect(told.size).toBe(MACHINES);
  });
});

const isEnd = ({ type }: SlotNews): boolean => type === 'vanished';
