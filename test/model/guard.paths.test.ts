import { pathTests } from '../support/path-tests.ts';
import { guardSubject } from './subjects.ts';

pathTests(guardSubject);
