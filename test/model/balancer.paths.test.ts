import { pathTests } from '../support/path-tests.ts';
import { balancerSubject } from './subjects.ts';

pathTests(balancerSubject);
