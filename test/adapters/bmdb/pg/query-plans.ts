import type { Database } from '../../../../src/adapters/bmdb/pg/pool.ts';
import { statement } from '../../../../src/adapters/bmdb/pg/statement.ts';

/** One step of a plan, in EXPLAIN's JSON. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Filter?: string;
  /** Estimates. */
  readonly 'Plan Rows': number;
  readonly 'Plan Width': number;
  readonly Plans?: readonly PlanNode[];
}

const plain = (text: string) =>
  statement({ name: '', columns: { 'QUERY PLAN': 'jsonb?' }, text: () => text });

/** The generic plan that the server keeps for a statement with any parameters. */
export async function genericPlan(db: Database, text: string): Promise<PlanNode> {
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place)));
  const args = count === 0 ? '' : `(${Array(count).fill('NULL').join(', ')})`;
  // PostgreSQL 15 has no EXPLAIN (GENERIC_PLAN).
  const doing = 'explain a statement';
  return db.transact({ doing, isolation: 'READ COMMITTED' }, async (q) => {
    await q.run(plain(`SET LOCAL plan_cache_mode = force_generic_plan`), {});
    await q.run(plain(`PREPARE explained AS ${text}`), {});
    const [row] = await q.rows(plain(`EXPLAIN (FORMAT JSON) EXECUTE explained${args}`), {});
    await q.run(plain(`DEALLOCATE explained`), {});
    const [{ Plan }] = row!['QUERY PLAN'] as readonly [{ Plan: PlanNode }];
    return Plan;
  });
}

/** The steps of a plan, one per line, for the person who repairs it. */
export const outlineOf = (node: PlanNode, depth = 0): string =>
  [
    `${'  '.repeat(depth)}${node['Node Type']} ${node['Relation Name'] ?? ''} ${node['Plan Rows']}`,
    ...(node.Plans ?? []).map((child) => outlineOf(child, depth + 1)),
  ].join('\n');

export interface PlanRules {
  /** Rows of each table and index. A partial index may be small on a large table. */
  readonly sizes: ReadonlyMap<string, number>;
  /** A plan must not scan more rows than this sequentially. */
  readonly readMax: number;
  /** A plan must not sort more rows than this, by the planner's rough estimate. */
  readonly sortMax: number;
}

/**
 * Parts of a plan that make a statement slower as the fleet grows.
 * @param bounded the reader stops after some rows.
 */
export function complaintsAboutPlan(node: PlanNode, rules: PlanRules, bounded = false): string[] {
  const kind = node['Node Type'];
  const table = node['Relation Name'] ?? '';
  const size = rules.sizes.get(node['Index Name'] ?? table) ?? 0;
  const found: string[] = [];
  if (size > rules.readMax && readsAll(node, bounded)) {
    found.push(`reads all ${size} rows of ${table}`);
  }
  if (kind.endsWith('Sort') && node['Plan Rows'] > rules.sortMax) {
    found.push(`sorts ${node['Plan Rows']} rows`);
  }
  // These steps read all their input before their first row.
  const greedy = /^(Sort|Hash|Aggregate|WindowAgg|ModifyTable)$/.test(kind);
  const boundedBelow = kind === 'Limit' || (bounded && !greedy);
  for (const child of node.Plans ?? []) {
    found.push(...complaintsAboutPlan(child, rules, boundedBelow));
  }
  return found;
}

function readsAll(node: PlanNode, bounded: boolean): boolean {
  if (asksForAny(node)) return false;
  if (/Seq Scan/.test(node['Node Type'])) return true;
  // Along an index from its beginning to its end.
  return /^Index (Only )?Scan$/.test(node['Node Type']) && !node['Index Cond'] && !bounded;
}

/** EXISTS without a condition: the first row is enough. */
const asksForAny = (node: PlanNode) =>
  node['Parent Relationship'] === 'InitPlan' && !node.Filter && node['Plan Width'] === 0;
