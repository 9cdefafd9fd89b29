import { describe } from 'vitest';
import { memoryWorld } from './memory-world.ts';
import { balancingVectors } from './vectors.ts';

describe('on a balancer that drains by itself and is ready at once', () => {
  balancingVectors(async () => memoryWorld(), { means: ['spoil', 'restart'] });
});

describe('on one where servers are drained by removing them, and objects take their time', () => {
  const capabilities = { drain: 'remove', sessions: false, health: false } as const;
  const open = async () => memoryWorld({ capabilities, readyAfterMs: 3_000 });
  balancingVectors(open, { means: ['spoil', 'restart', 'sessions', 'makeWell'] });
});

describe('on one whose objects cannot be changed', () => {
  const open = async () => memoryWorld({ capabilities: { update: false, adopt: false } });
  balancingVectors(open, { means: ['spoil', 'restart', 'leaveHalf'], update: true });
});
