import { bmdbContract } from '../../../contracts/bmdb.ts';
import { memHarness } from './mem-harness.ts';

bmdbContract('in memory', memHarness);
