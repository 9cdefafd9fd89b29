import { pathTests } from '../support/path-tests.ts';
import { fleetSubject } from './subjects.ts';

pathTests(fleetSubject);
