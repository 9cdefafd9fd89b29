import { beforeEach, describe, expect, test } from 'vitest';
import type { InspectionEvent } from 'xstate';
import { createBoard, type Board, type BoardChange } from '../../src/actors/board.ts';
import { createMemMetrics, type MemMetrics } from '../doubles/mem-metrics.ts';
import { providerName, slot } from '../../src/domain/ids.ts';
import type { MachineState, MachineView } from '../../src/domain/view.ts';
import { viewAt } from '../support/views.ts';

const rack = (at: number) => slot('stub', `rack-${at}`);
let nowMs: number;
let metrics: MemMetrics;
let changes: BoardChange[];
let board: Board;

beforeEach(() => {
  [nowMs, changes] = [1_000, []];
  metrics = createMemMetrics();
  const observer = { next: (change: BoardChange) => void changes.push(change) };
  board = createBoard({ nowMs: () => nowMs, metrics, changes: observer });
});

const show = (at: number, view: MachineView) => board.onView({ ...view, slot: rack(at) });
/** The actor of a machine is in this state of the chart. */
const acts = (at: number, life: unknown) => {
  const event = { type: '@xstate.snapshot', snapshot: { value: { life } } };
  board.inspect({ ...event, actorRef: { id: rack(at) } } as unknown as InspectionEvent);
};
const shown = (at: number) => {
  const { state, substate, sinceMs } = board.entries.get(rack(at))!;
  return [state, substate, sinceMs];
};

describe('an entry', () => {
  test('shows the view until the actor shows its own state', () => {
    show(1, viewAt('Provisioned', 'waiting'));
    expect(shown(1)).toEqual(['Provisioned', 'waiting', 1_000]);
    nowMs = 2_000;
    acts(1, { AgentStarting: { ours: 'uploading' } });
    expect(shown(1)).toEqual(['AgentStarting', 'uploading', 2_000]);
    nowMs = 3_000;
    acts(1, { AgentStarting: { ours: 'executing' } });
    expect(shown(1), 'a step is no new state').toEqual(['AgentStarting', 'executing', 2_000]);
    show(1, viewAt('Running', 'awaitingHeartbeat'));
    expect(shown(1), 'the actor decides').toEqual(['AgentStarting', 'executing', 2_000]);
    expect(board.entries.get(rack(1))!.view.state).toBe('Running');
  });

  test('shows what the rows say of work that is done elsewhere', () => {
    show(1, viewAt('Recovering', 'rebooting'));
    acts(1, { Recovering: 'elsewhere' });
    expect(shown(1)).toEqual(['Recovering', 'rebooting', 1_000]);
    show(2, viewAt('Running', 'silent'));
    acts(2, { Recovering: 'elsewhere' });
    expect(shown(2), 'the rows say something else').toEqual(['Recovering', 'elsewhere', 1_000]);
  });

  test('of a state that the chart does not divide shows what the rows say of it', () => {
    show(1, viewAt('HandedOver', 'installed'));
    acts(1, 'HandedOver');
    expect(shown(1)).toEqual(['HandedOver', 'installed', 1_000]);
    show(2, viewAt('Running', 'healthy'));
    acts(2, 'HandedOver');
    expect(shown(2), 'the rows say something else').toEqual(['HandedOver', '', 1_000]);
  });

  test('comes from machines alone: other actors and events show nothing', () => {
    show(1, viewAt('Running', 'healthy'));
    const before = changes.length;
    const snapshot = { value: 'uploading' };
    const actorRef = { id: rack(1) };
    board.inspect({ type: '@xstate.snapshot', snapshot, actorRef } as unknown as InspectionEvent);
    const event = { type: '@xstate.event', snapshot: { value: { life: { Running: 'late' } } } };
    board.inspect({ ...event, actorRef } as unknown as InspectionEvent);
    acts(7, { Running: 'late' });
    expect(changes).toHaveLength(before);
    expect([...board.entries.keys()]).toEqual([rack(1)]);
  });
});

describe('the numbers', () => {
  test('are machines per state, as long as there are any', () => {
    expect(board.counts()).toEqual({});
    show(1, viewAt('Running', 'healthy'));
    show(2, viewAt('Running', 'late'));
    show(3, viewAt('Provisioned', 'waiting'));
    expect(board.counts()).toEqual({ Running: 2, Provisioned: 1 });
    show(2, viewAt('Running', 'late'));
    acts(2, { Recovering: { ours: { rebooting: 'asking' } } });
    expect(board.counts()).toEqual({ Running: 1, Provisioned: 1, Recovering: 1 });
    board.onVanished(rack(3));
    board.onVanished(rack(3));
    expect(board.counts()).toEqual({ Running: 1, Recovering: 1 });
    expect([...board.entries.keys()]).toEqual([rack(1), rack(2)]);
  });

  test('are told per provider, state and substate too', () => {
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
    });
    expect(board.census()).toEqual([
      group('stub', 'Running', 'healthy', 2),
      group('stub', 'Running', 'late', 1),
      group('metal', 'Running', 'healthy', 1),
      group('stub', 'Provisioned', 'healthy', 1),
    ]);
  });

  test('of recoveries are those that were begun', () => {
    show(1, viewAt('Running', 'silent'));
    acts(1, { Recovering: { ours: 'claiming' } });
    acts(1, { Running: 'silent' });
    expect(board.recoveries(), 'a refused claim is none').toBe(0);
    acts(1, { Recovering: { ours: 'claiming' } });
    acts(1, { Recovering: { ours: 'rebooting' } });
    acts(1, { Recovering: { ours: 'rebooting' } });
    acts(1, { Recovering: { ours: 'recording' } });
    expect(board.recoveries()).toBe(1);
    show(2, viewAt('Running', 'silent'));
    acts(2, { Recovering: { ours: 'claiming' } });
    acts(2, { Recovering: { ours: 'restartingAgent' } });
    acts(2, { Recovering: { ours: 'rebooting' } });
    expect(board.recoveries(), 'going on to the next rung is none').toBe(2);
  });

  test('of machines that need a human follow them in and out', () => {
    expect(board.needHuman()).toBe(0);
    show(1, viewAt('Quarantined', 'needsHuman'));
    show(2, viewAt('Quarantined', 'conflict'));
    show(3, viewAt('Running', 'healthy'));
    acts(3, { Quarantined: 'needsHuman' });
    expect(board.needHuman()).toBe(2);
    acts(3, { Running: 'healthy' });
    board.onVanished(rack(1));
    expect(board.needHuman()).toBe(0);
  });

  test('of transitions are moves from state to state', () => {
    show(1, viewAt('Running', 'silent'));
    acts(1, { Running: 'late' });
    expect(metrics.count('transition')).toBe(0);
    acts(1, { Recovering: { ours: 'claiming' } });
    acts(1, { Recovering: { ours: 'rebooting' } });
    expect(metrics.calls).toEqual([
      { method: 'transition', args: ['stub', 'Running', 'Recovering'] },
    ]);
  });
});

test('every change is told, and nothing else', () => {
  show(1, viewAt('Running', 'healthy'));
  acts(1, { Running: 'healthy' });
  acts(1, { Running: 'late' });
  show(1, viewAt('Running', 'late'));
  board.onVanished(rack(1));
  board.onVanished(rack(1));
  const told = changes.map((change) =>
    change.type === 'changed' ? change.entry.substate : `removed ${change.slot}`,
  );
  expect(told).toEqual(['healthy', 'late', 'late', `removed ${rack(1)}`]);
});
