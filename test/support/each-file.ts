import { configureGlobal } from 'fast-check';
import { testSeed } from './seeds.ts';

/* Runs before every test file and sets the properties' seed to the run's seed. */
configureGlobal({ seed: testSeed() });
