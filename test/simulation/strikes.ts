import { BALANCERS } from './strikes/balancers.ts';
import { DAEMONS } from './strikes/daemons.ts';
import { DATABASE } from './strikes/database.ts';
import type { StrikeKindSpec } from './strikes/kind.ts';
import { MACHINES } from './strikes/machines.ts';
import { OPERATORS } from './strikes/operators.ts';
import { PROVIDER } from './strikes/provider.ts';
import { REPAIRS } from './strikes/repairs.ts';

const WORLD = { ...MACHINES, ...PROVIDER, ...DATABASE, ...DAEMONS };
const TABLE = { ...WORLD, ...OPERATORS, ...BALANCERS, ...REPAIRS };
export type StrikeKind = keyof typeof TABLE;
/** Every kind of strike. A new kind is a new entry. */
export const STRIKES: Readonly<Record<StrikeKind, StrikeKindSpec>> = TABLE;
export const STRIKE_KINDS = Object.keys(STRIKES) as readonly StrikeKind[];
/** Kinds that strike only in runs with a pool. */
export const POOL_KINDS: ReadonlySet<StrikeKind> = new Set(
  Object.keys(BALANCERS) as (keyof typeof BALANCERS)[],
);
/** Operator requests and repairs. */
export const OPERATOR_KINDS = Object.keys({ ...OPERATORS, ...REPAIRS }) as readonly StrikeKind[];
