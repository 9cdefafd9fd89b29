import { pathTests } from '../support/path-tests.ts';
import { deprovisionSubject } from './subjects.ts';

pathTests(deprovisionSubject);
