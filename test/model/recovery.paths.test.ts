import { pathTests } from '../support/path-tests.ts';
import { recoverySubject } from './subjects.ts';

pathTests(recoverySubject);
