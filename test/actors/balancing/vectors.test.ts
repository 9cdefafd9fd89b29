import { describe } from 'vitest';
import { memoryWorld } from './memory-world.ts';
import { balancingVectors } from './vectors.ts';

describe('a balancer that drains by itself and is ready at once', () => {
  balancingVectors(async () => memoryWorld(), { means: ['spoil', 'restart'] });
});

describe('a balancer that drains by removing servers and has slow objects', () => {
  const capabilities = { drain: 'remove', sessions: false, health: false } as const;
  const open = async () => memoryWorld({ capabilities, readyAfterMs: 3_000 });
  balancingVectors(open, { means: ['spoil', 'restart', 'sessions', 'makeWell'] });
});

describe('a balancer whose objects cannot be changed', () => {
  const open = async () => memoryWorld({ capabilities: { update: false, adopt: false } });
  balancingVectors(open, { means: ['spoil', 'restart', 'leaveHalf'], update: true });
});
