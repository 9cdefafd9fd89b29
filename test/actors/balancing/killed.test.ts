import { describe, expect, test } from 'vitest';
import { MEMBER_STATES } from '../../../src/domain/balancing/members.ts';
import { balancer as chart } from '../../../src/machines/balancer.ts';
import { nodesOf } from '../../support/chart-map.ts';
import { engineWorld } from './engine-world.ts';
import { strikes } from './kills.ts';
import { memoryWorld } from './memory-world.ts';
import { CHART_STRIKES, MEMBER_STRIKES } from './strikes.ts';

test('covers every state of the chart and of a member with a kill', () => {
  const leaves = nodesOf(chart)
    .filter(({ states, type }) => Object.keys(states).length === 0 && type !== 'final')
    .map(({ key }) => key);
  expect(CHART_STRIKES.map(({ state }) => state).toSorted()).toEqual(leaves.toSorted());
  expect(MEMBER_STRIKES.map(({ state }) => state)).toEqual(MEMBER_STATES);
});

describe('a killed daemon on a balancer in memory', () => {
  strikes({ open: async () => memoryWorld({ readyAfterMs: 3_000 }) });
});

describe('a killed daemon on the Engine over HTTP', () => {
  const open = () => engineWorld({ stateDelayMs: 3_000 });
  strikes({ open, lacks: ['makeWell'], isReal: true });
});
