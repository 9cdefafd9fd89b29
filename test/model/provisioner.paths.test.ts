import { pathTests } from '../support/path-tests.ts';
import { provisionerSubject } from './subjects.ts';

pathTests(provisionerSubject);
