import { SchemaMismatch } from '../../../domain/errors.ts';

/** Migrations of a database, compared with those that this program knows. */
export interface SchemaState {
  /**
   * `dirty`: no version of the program left it like this (a migration is missing, or two lines of
   * development are mixed). Nothing may touch such a database until a person has examined it.
   */
  readonly kind: 'current' | 'empty' | 'older' | 'newer' | 'dirty';
  /** Newest migration of the database, or `none`; ends with ` DIRTY!!!` if dirty. */
  readonly version: string;
  /** Known to this program and not applied, in order. */
  readonly pending: readonly string[];
  /** Applied and unknown to this program, in order. */
  readonly unknown: readonly string[];
}

/**
 * Compares the two lists.
 * @param applied in the order of application.
 * @param known in the order in which to apply them.
 */
export function compareSchema(applied: readonly string[], known: readonly string[]): SchemaState {
  const pending = known.filter((name) => !applied.includes(name));
  const unknown = applied.filter((name) => !known.includes(name));
  const kind = kindOf(applied, known);
  const newest = applied.toSorted().at(-1) ?? 'none';
  return { kind, version: kind === 'dirty' ? `${newest} DIRTY!!!` : newest, pending, unknown };
}

function kindOf(applied: readonly string[], known: readonly string[]): SchemaState['kind'] {
  const shared = Math.min(applied.length, known.length);
  const agree = applied.slice(0, shared).every((name, at) => name === known[at]);
  const inOrder = applied.every((name, at) => at === 0 || name > applied[at - 1]!);
  if (!agree || !inOrder) return 'dirty';
  if (applied.length > known.length) return 'newer';
  if (applied.length === known.length) return 'current';
  return applied.length === 0 ? 'empty' : 'older';
}

/** Why this program cannot work with the schema, and what to do; null when it can. */
export function complaintAbout({ kind, pending, unknown }: SchemaState): string | null {
  const lacks = `it lacks: ${pending.join(', ') || 'nothing'}`;
  const has = `unknown here: ${unknown.join(', ') || 'none'}`;
  switch (kind) {
    case 'current':
      return null;
    case 'empty':
      return 'the database has no schema yet; run "shepherd db migrate" first';
    case 'older':
      return `the database is older than this program (${lacks}); run "shepherd db migrate" first`;
    case 'newer':
      return (
        `the database is newer than this program (${has}); ` +
        'run the version that migrated it, or a later version'
      );
    case 'dirty':
      return (
        `the database's list of migrations is dirty: no version leaves it like this (${lacks}; ${has}); ` +
        'restore a backup, or compare the schema with a new one and repair schema_migrations'
      );
  }
}

/** @throws {SchemaMismatch} newer or dirty: a migration would make it worse. */
export function refuseForMigration(state: SchemaState): void {
  if (state.kind !== 'newer' && state.kind !== 'dirty') return;
  throw new SchemaMismatch(complaintAbout(state)!);
}
