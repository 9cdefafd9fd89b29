import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Statement } from '../../../../src/adapters/bmdb/pg/statement.ts';
import { DEFAULT_LOSS } from '../../../../src/domain/policy.ts';
import type { LossPolicy } from '../../../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../../../src/domain/recovery/guard-judgement.ts';
import type { GuardPolicy } from '../../../../src/domain/recovery/guard-judgement.ts';
import { root, sources } from '../../../repo/sources.ts';

export interface Registered {
  /** File name of the module. */
  readonly file: string;
  /** Key in the registry. */
  readonly name: string;
  readonly statement: Statement;
}

type Registry = Readonly<Record<string, Statement>>;
interface StatementModule {
  readonly statements?: Registry;
  readonly statementsFor?: (loss: LossPolicy, guard: GuardPolicy) => Registry;
}

/** Every statement of the PostgreSQL BMDB, as its modules export them. */
export async function registeredStatements(): Promise<Registered[]> {
  const files = sources('src/adapters/bmdb/pg/**/*.ts').map(({ path }) => path);
  const found = await Promise.all(files.map(statementsOf));
  return found.flat();
}

async function statementsOf(path: string): Promise<Registered[]> {
  const module = (await import(pathToFileURL(join(root, path)).href)) as StatementModule;
  const registry = { ...module.statements, ...module.statementsFor?.(DEFAULT_LOSS, DEFAULT_GUARD) };
  return Object.entries(registry).map(([name, statement]) => ({
    file: basename(path),
    name,
    statement,
  }));
}
