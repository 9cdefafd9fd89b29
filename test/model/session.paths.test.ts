import { pathTests } from '../support/path-tests.ts';
import { sessionSubject } from './subjects.ts';

pathTests(sessionSubject);
