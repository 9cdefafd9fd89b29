import { contractOnPg } from './contract-on-pg.ts';

contractOnPg('balancing');
