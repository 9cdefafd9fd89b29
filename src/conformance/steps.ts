import type { ConformanceStep } from './step.ts';
import { CHANGING } from './steps/changing.ts';
import { CONTACT, EXISTING, RELEASE } from './steps/contact.ts';
import { CREATION } from './steps/creation.ts';
import { ENDING } from './steps/ending.ts';
import { OPENING } from './steps/opening.ts';

/** All tests of a driver, in order. */
export const STEPS: readonly ConformanceStep[] = [
  ...OPENING,
  ...CREATION,
  ...EXISTING,
  ...CONTACT,
  ...CHANGING,
  ...RELEASE,
  ...ENDING,
];
