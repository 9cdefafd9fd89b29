import { configureGlobal } from 'fast-check';
import { testSeed } from './seeds.ts';

/* Runs before every test file: the run decides the seed of properties. */
configureGlobal({ seed: testSeed() });
