import { pathTests } from '../support/path-tests.ts';
import { lifecycleSubject } from './subjects.ts';

pathTests(lifecycleSubject);
