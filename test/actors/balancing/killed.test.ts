import { describe, expect, test } from 'vitest';
import { MEMBER_STATES } from '../../../src/domain/balancing/members.ts';
import { balancer as chart } from '../../../src/machines/balancer.ts';
import { nodesOf } from '../../support/chart-map.ts';
import { engineWorld } from './engine-world.ts';
import { strikes } from './kills.ts';
import { memoryWorld } from './memory-world.ts';
import { CHART_STRIKES, MEMBER_STRIKES } from './strikes.ts';

test('there is a strike for every state of the chart in which a daemon can be, and of a member', () => {
  const leaves = nodesOf(chart)
    .filter(({ states, type }) => Object.keys(states).length === 0 && type !== 'final')
    .map(({ key }) => key);
  expect(CHART_STRIKES.map(({ state }) => state).toSorted()).toEqual(leaves.toSorted());
  expect(MEMBER_STRIKES.map(({ state }) => state)).toEqual(MEMBER_STATES);
});

describe('a daemon that is killed, on a balancer in memory', () => {
  strikes({ open: async () => memoryWorld({ readyAfterMs: 3_000 }) });
});

describe('a daemon that is killed, on the Engine over HTTP', () => {
  const open = () => engineWorld({ stateDelayMs: 3_000 });
  strikes({ open, lacks: ['makeWell'], isReal: true });
});
