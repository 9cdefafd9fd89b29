import { expect, test } from 'vitest';
import { slot, type Slot } from '../../src/domain/ids.ts';
import { cell, CELL_CAPACITY } from '../../src/machines/cell.ts';
import {
  tableTests,
  type ChartAct,
  type ChartOutcome,
  type ChartRule,
  on,
} from '../support/chart-table.ts';
import { viewAt } from '../support/views.ts';

/**
 * A cell supervises at most 64 machines: one actor per slot, created by the first news of the slot.
 * An actor that crashes or ends is forgotten and reported, and no neighbour notices.
 */
const A = slot('stub', 'a');
const B = slot('stub', 'b');
const bug = new Error('bug');
const view = (of: Slot, substate = 'healthy') => ({ ...viewAt('Running', substate), slot: of });
const observed = (of: Slot, substate?: string): ChartAct => [
  'told',
  { type: 'machine.observed', view: view(of, substate) } as { type: string },
];
const retire = (of: Slot): ChartAct => [
  'told',
  { type: 'machine.retire', slot: of } as { type: string },
];

const spawns = (of: Slot): ChartOutcome => ['calls', 'lifecycle', { view: view(of) }];
const tells = (of: Slot, substate: string): ChartOutcome => [
  'tells',
  of,
  { type: 'machine.observed', view: view(of, substate) } as { type: string },
];
const ends = (of: Slot, living: string): ChartRule =>
  on(['ends', of], living, [['does', 'reportEnd', expect.objectContaining({ actorId: of })]]);
const crashes = (of: Slot, living: string): ChartRule =>
  on(['fails', of, bug], living, [
    ['does', 'reportCrash', expect.objectContaining({ actorId: of, error: bug })],
  ]);
const stopped: ChartOutcome = ['stops', 'lifecycle'];
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
    '': [on(observed(A), A, [spawns(A)]), on(retire(A), '')],
    [A]: [
      on(observed(A, 'late'), A, [tells(A, 'late')]),
      on(observed(B), both, [spawns(B)]),
      ends(A, ''),
      crashes(A, ''),
      on(retire(A), '', [stopped]),
      on(retire(B), A),
    ],
    [both]: [
      on(observed(B, 'late'), both, [tells(B, 'late')]),
      ends(A, B),
      ends(B, A),
      crashes(A, B),
      crashes(B, A),
      on(retire(A), B, [stopped]),
    ],
  },
  stories: [
    {
      name: 'a machine that crashed, ended or was retired is made anew by the next news',
      from: [observed(A), observed(B)],
      steps: [
        crashes(A, B),
        on(observed(A), `${B} ${A}`, [spawns(A)]),
        ends(A, B),
        on(observed(A), `${B} ${A}`, [spawns(A)]),
        on(retire(A), B, [stopped]),
        on(observed(A), `${B} ${A}`, [spawns(A)]),
        on(observed(A, 'late'), `${B} ${A}`, [tells(A, 'late')]),
      ],
    },
  ],
});

test('holds at most 64 machines', () => {
  expect(CELL_CAPACITY).toBe(64);
});
