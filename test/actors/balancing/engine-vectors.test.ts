import { describe } from 'vitest';
import { engineWorld } from './engine-world.ts';
import { balancingVectors } from './vectors.ts';

describe('on the Engine, over HTTP, with objects that take their time', () => {
  balancingVectors(() => engineWorld({ stateDelayMs: 3_000 }));
});
