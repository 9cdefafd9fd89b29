import { pathTests } from '../support/path-tests.ts';
import { takeoverSubject } from './subjects.ts';

pathTests(takeoverSubject);
