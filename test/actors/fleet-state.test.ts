import { beforeEach, describe, expect, test } from 'vitest';
import { createBoard, type FleetState, type BoardChange } from '../../src/actors/fleet-state.ts';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import { providerName, slot } from '../../src/domain/ids.ts';
import type { MachineState } from '../../src/domain/states.ts';
import type { MachineView } from '../../src/domain/view.ts';
import { viewAt } from '../support/views.ts';

const rack = (at: number) => slot('stub', `rack-${at}`);
let nowMs: number;
let metrics: MemMetrics;
let changes: BoardChange[];
let board: FleetState;

beforeEach(() => {
  [nowMs, changes] = [1_000, []];
  metrics = createMemMetrics();
  const observer = { next: (change: BoardChange) => void changes.push(change) };
  board = createBoard({ nowMs: () => nowMs, metrics, changes: observer });
});

const show = (at: number, view: MachineView) => board.onView({ ...view, slot: rack(at) });
const rests = (at: number, { state, substate }: MachineView) =>
  board.onShown({ slot: rack(at), state, substate, working: false });
/** The step of a task; null: it ends. */
const works = (at: number, state: MachineState, substate: string | null) =>
  board.onShown({ slot: rack(at), state, substate, working: true });
const shown = (at: number) => {
  const { state, substate, sinceMs } = board.entries.get(rack(at))!;
  return [state, substate, sinceMs];
};

describe('an entry of the fleet state', () => {
  test('shows the view until the actor shows its own state', () => {
    show(1, viewAt('Provisioned', 'waiting'));
    expect(shown(1)).toEqual(['Provisioned', 'waiting', 1_000]);
    nowMs = 2_000;
    works(1, 'AgentStarting', 'uploading');
    expect(shown(1)).toEqual(['AgentStarting', 'uploading', 2_000]);
    nowMs = 3_000;
    works(1, 'AgentStarting', 'executing');
    expect(shown(1), 'a step is no new state').toEqual(['AgentStarting', 'executing', 2_000]);
    show(1, viewAt('Running', 'awaitingHeartbeat'));
    expect(shown(1), 'the actor decides').toEqual(['AgentStarting', 'executing', 2_000]);
    expect(board.entries.get(rack(1))!.view.state).toBe('Running');
  });

  test('shows the last step until a task has ended', () => {
    show(1, viewAt('Running', 'silent'));
    works(1, 'Recovering', 'rebooting');
    works(1, 'Recovering', null);
    expect(shown(1)).toEqual(['Recovering', 'rebooting', 1_000]);
  });

  test('counts silence from the last heartbeat, whatever recovery tried', () => {
    show(1, { ...viewAt('Running', 'healthy'), lastHeartbeatAtMs: 900 });
    const silent = { ...viewAt('Running', 'silent'), lastHeartbeatAtMs: 5_000 };
    nowMs = 20_000;
    show(1, silent);
    rests(1, silent);
    expect(shown(1), 'not for as long as it ran before').toEqual(['Running', 'silent', 5_000]);
    works(1, 'Recovering', 'restartingAgent');
    expect(shown(1)).toEqual(['Recovering', 'restartingAgent', 20_000]);
    nowMs = 21_000;
    rests(1, silent);
    expect(shown(1), 'nor since an attempt ended').toEqual(['Running', 'silent', 5_000]);
    show(1, viewAt('Running', 'healthy'));
    rests(1, viewAt('Running', 'healthy'));
    expect(shown(1)).toEqual(['Running', 'healthy', 21_000]);
  });

  test('shows the rows while no own task runs', () => {
    show(1, viewAt('Running', 'silent'));
    rests(1, viewAt('Recovering', 'rebooting'));
    expect(shown(1)).toEqual(['Recovering', 'rebooting', 1_000]);
    rests(1, viewAt('HandedOver', 'installed'));
    expect(shown(1)).toEqual(['HandedOver', 'installed', 1_000]);
  });

  test('exists for machines with rows and changes only with its visible fields', () => {
    show(1, viewAt('Running', 'healthy'));
    const before = changes.length;
    rests(1, viewAt('Running', 'healthy'));
    rests(7, viewAt('Running', 'late'));
    expect(changes).toHaveLength(before);
    expect([...board.entries.keys()]).toEqual([rack(1)]);
  });
});

describe('counts of the fleet state', () => {
  test('cover states that some machine has', () => {
    expect(board.counts()).toEqual({});
    show(1, viewAt('Running', 'healthy'));
    show(2, viewAt('Running', 'late'));
    show(3, viewAt('Provisioned', 'waiting'));
    expect(board.counts()).toEqual({ Running: 2, Provisioned: 1 });
    show(2, viewAt('Running', 'late'));
    works(2, 'Recovering', 'rebooting');
    expect(board.counts()).toEqual({ Running: 1, Provisioned: 1, Recovering: 1 });
    board.onVanished(rack(3));
    board.onVanished(rack(3));
    expect(board.counts()).toEqual({ Running: 1, Recovering: 1 });
    expect([...board.entries.keys()]).toEqual([rack(1), rack(2)]);
  });

  test('cover provider, state and substate', () => {
    show(1, viewAt('Running', 'healthy'));
    show(2, viewAt('Running', 'healthy'));
    show(3, viewAt('Running', 'late'));
    show(4, { ...viewAt('Running', 'healthy'), provider: providerName('metal') });
    show(5, viewAt('Provisioned', 'healthy'));
    const group = (provider: string, state: MachineState, substate: string, count: number) => ({
      provider,
      state,
      substate,
      count,
      needHuman: 0,
    });
    expect(board.census()).toEqual([
      group('stub', 'Running', 'healthy', 2),
      group('stub', 'Running', 'late', 1),
      group('metal', 'Running', 'healthy', 1),
      group('stub', 'Provisioned', 'healthy', 1),
    ]);
  });

  test('cover a machine that needs a person although its state stays', () => {
    show(1, viewAt('Running', 'silent'));
    show(2, viewAt('Quarantined', 'needsHuman'));
    expect(board.needHuman()).toBe(1);
    show(1, { ...viewAt('Running', 'silent'), needsHuman: true });
    expect(board.needHuman()).toBe(2);
    works(1, 'Recovering', 'rebooting');
    expect(board.needHuman()).toBe(2);
    expect(board.census()).toContainEqual({
      ...{ provider: 'stub', state: 'Recovering', substate: 'rebooting' },
      ...{ count: 1, needHuman: 1 },
    });
    show(1, viewAt('Running', 'healthy'));
    rests(1, viewAt('Running', 'healthy'));
    expect(board.needHuman()).toBe(1);
  });

  test('cover healthy machines with conditions', () => {
    show(1, viewAt('Running', 'healthy'));
    show(2, { ...viewAt('Running', 'healthy'), conditions: 'disk-failing' });
    expect(board.headline()).toMatchObject({ total: 2, conditions: 1 });
    show(1, { ...viewAt('Running', 'healthy'), conditions: 'clock-skewed' });
    show(2, viewAt('Running', 'healthy'));
    expect(board.headline().conditions).toBe(1);
  });

  test('cover recoveries that were started', () => {
    show(1, viewAt('Running', 'silent'));
    works(1, 'Recovering', 'claiming');
    rests(1, viewAt('Running', 'silent'));
    expect(board.recoveries(), 'a refused claim is none').toBe(0);
    works(1, 'Recovering', 'claiming');
    rests(1, viewAt('Recovering', 'rebooting'));
    expect(board.recoveries(), 'nor is one of another daemon').toBe(0);
    works(1, 'Recovering', 'claiming');
    works(1, 'Recovering', 'rebooting');
    works(1, 'Recovering', 'rebooting');
    works(1, 'Recovering', 'recording');
    expect(board.recoveries()).toBe(1);
    show(2, viewAt('Running', 'silent'));
    works(2, 'Recovering', 'claiming');
    works(2, 'Recovering', 'restartingAgent');
    works(2, 'Recovering', 'rebooting');
    expect(board.recoveries(), 'going on to the next rung is none').toBe(2);
  });

  test('cover moves from state to state', () => {
    show(1, viewAt('Running', 'silent'));
    rests(1, viewAt('Running', 'late'));
    expect(metrics.total('shepherd_machine_transitions_total')).toBe(0);
    works(1, 'Recovering', 'claiming');
    works(1, 'Recovering', 'rebooting');
    expect(metrics.calls).toMatchObject([
      {
        name: 'shepherd_machine_transitions_total',
        labels: { provider: 'stub', from: 'Running', to: 'Recovering' },
      },
    ]);
  });
});

test('report every change and nothing else', () => {
  show(1, viewAt('Running', 'healthy'));
  rests(1, viewAt('Running', 'healthy'));
  rests(1, viewAt('Running', 'late'));
  show(1, viewAt('Running', 'late'));
  board.onVanished(rack(1));
  board.onVanished(rack(1));
  const told = changes.map((change) =>
    change.type === 'changed' ? change.entry.substate : `removed ${change.slot}`,
  );
  expect(told).toEqual(['healthy', 'late', 'late', `removed ${rack(1)}`]);
});
