import { expect, test } from 'vitest';
import { slot, type Slot } from '../../src/domain/ids.ts';
import { cell, CELL_CAPACITY } from '../../src/machines/cell.ts';
import { tableTests, type Act, type Done, type Rule } from '../support/chart-table.ts';
import { viewAt } from '../support/views.ts';

/**
 * A cell supervises at most 64 machines: one actor for each slot, made of the first news; whoever
 * crashes or ends is forgotten and told of, and no neighbour notices.
 */
const A = slot('stub', 'a');
const B = slot('stub', 'b');
const bug = new Error('bug');
const view = (of: Slot, substate = 'healthy') => ({ ...viewAt('Running', substate), slot: of });
const observed = (of: Slot, substate?: string): Act => [
  'told',
  { type: 'machine.observed', view: view(of, substate) } as { type: string },
];
const retire = (of: Slot): Act => [
  'told',
  { type: 'machine.retire', slot: of } as { type: string },
];

const spawns = (of: Slot): Done => ['calls', 'lifecycle', { view: view(of) }];
const tells = (of: Slot, substate: string): Done => [
  'tells',
  of,
  { type: 'machine.observed', view: view(of, substate) } as { type: string },
];
const ends = (of: Slot, living: string): Rule => ({
  when: ['ends', of],
  to: living,
  effects: [['does', 'reportEnd', expect.objectContaining({ actorId: of })]],
});
const crashes = (of: Slot, living: string): Rule => ({
  when: ['fails', of, bug],
  to: living,
  effects: [['does', 'reportCrash', expect.objectContaining({ actorId: of, error: bug })]],
});
const stopped: Done = ['stops', 'lifecycle'];
const both = `${A} ${B}`;

tableTests({
  chart: cell,
  input: undefined,
  services: { lifecycle: 'chart' },
  actions: ['reportCrash', 'reportEnd'],
  events: ['machine.observed', 'machine.retire'],
  stateOf: ({ children }) => Object.keys(children).join(' '),
  start: { to: '' },
  ways: { '': [], [A]: [observed(A)], [both]: [observed(A), observed(B)] },
  rules: {
    '': [
      { when: observed(A), to: A, effects: [spawns(A)] },
      { when: retire(A), to: '' },
    ],
    [A]: [
      { when: observed(A, 'late'), to: A, effects: [tells(A, 'late')] },
      { when: observed(B), to: both, effects: [spawns(B)] },
      ends(A, ''),
      crashes(A, ''),
      { when: retire(A), to: '', effects: [stopped] },
      { when: retire(B), to: A },
    ],
    [both]: [
      { when: observed(B, 'late'), to: both, effects: [tells(B, 'late')] },
      ends(A, B),
      ends(B, A),
      crashes(A, B),
      crashes(B, A),
      { when: retire(A), to: B, effects: [stopped] },
    ],
  },
  stories: [
    {
      name: 'a machine that crashed, ended or was retired is made anew by the next news',
      from: [observed(A), observed(B)],
      steps: [
        crashes(A, B),
        { when: observed(A), to: `${B} ${A}`, effects: [spawns(A)] },
        ends(A, B),
        { when: observed(A), to: `${B} ${A}`, effects: [spawns(A)] },
        { when: retire(A), to: B, effects: [stopped] },
        { when: observed(A), to: `${B} ${A}`, effects: [spawns(A)] },
        { when: observed(A, 'late'), to: `${B} ${A}`, effects: [tells(A, 'late')] },
      ],
    },
  ],
});

test('64 machines are the most', () => {
  expect(CELL_CAPACITY).toBe(64);
});
