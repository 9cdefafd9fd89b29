import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';
import { REGISTERED } from '../adapters/metrics/every-metric.ts';

/** Labels that Prometheus itself adds. */
const SCRAPED = ['instance', 'job'];
/** Series of a histogram, by purpose. */
const PARTS = { histogram: ['_bucket', '_sum', '_count'] } as const;

/** Labels of every series that a daemon exports, or that Prometheus adds at a scrape. */
const KNOWN: ReadonlyMap<string, readonly string[]> = new Map([
  ['up', SCRAPED],
  ...['nodejs_eventloop_lag_p99_seconds', 'nodejs_heap_size_used_bytes'].map(named),
  ...['process_resident_memory_bytes', 'process_cpu_seconds_total', 'process_open_fds'].map(named),
  ['process_start_time_seconds', SCRAPED],
  ...REGISTERED.flatMap(({ name, type, labelNames }): [string, readonly string[]][] => {
    const labels = [...SCRAPED, ...labelNames];
    if (type !== 'histogram') return [[name, labels]];
    return PARTS.histogram.map((part) => [name + part, [...labels, 'le']]);
  }),
]);
function named(name: string): [string, readonly string[]] {
  return [name, SCRAPED];
}

/**
 * Faults of an expression: it does not parse, names an unexported series or label, or is wrong for
 * several daemons, because it sums a value that each daemon reports for the whole fleet.
 */
export function faultsOf(expression: string): string[] {
  const faults: string[] = [];
  const tree = parser.parse(expression);
  const textOf = ({ from, to }: Pick<SyntaxNode, 'from' | 'to'>) => expression.slice(from, to);
  tree.iterate({
    enter({ node, type }) {
      if (type.isError)
        faults.push(`no PromQL at "${expression.slice(node.from - 10, node.from + 10)}"`);
      if (node.name === 'VectorSelector') faults.push(...faultsOfSelector(node, textOf));
      if (node.name === 'AggregateExpr') faults.push(...faultsOfGrouping(node, textOf));
    },
  });
  return faults;
}

/** The metrics in an expression. */
export function metricsOf(expression: string): string[] {
  const names: string[] = [];
  parser.parse(expression).iterate({
    enter({ node }) {
      const name = node.name === 'VectorSelector' ? node.getChild('Identifier') : null;
      if (name) names.push(expression.slice(name.from, name.to));
    },
  });
  return names;
}

type TextOf = (node: Pick<SyntaxNode, 'from' | 'to'>) => string;

function faultsOfSelector(node: SyntaxNode, textOf: TextOf): string[] {
  const identifier = node.getChild('Identifier');
  if (!identifier) return ['a selector without a name'];
  const name = textOf(identifier);
  const labels = KNOWN.get(name);
  if (!labels) return [`nobody exports ${name}`];
  const matched = descendants(node, 'LabelName').map(textOf);
  const unknown = matched.filter((label) => !labels.includes(label));
  return [
    ...unknown.map((label) => `${name} has no label ${label}`),
    ...overSeveral(node, name, textOf),
  ];
}

/** The required aggregation, by the metric's scope. */
function overSeveral(node: SyntaxNode, name: string, textOf: TextOf): string[] {
  const family = REGISTERED.find((each) => name === each.name || name.startsWith(`${each.name}_`));
  const exact = REGISTERED.find((each) => each.name === name) ?? family;
  const around = ancestors(node);
  const aggregate = around.find((each) => each.name === 'AggregateExpr');
  const operator = aggregate ? textOf(aggregate.getChild('AggregateOp')!) : 'nothing';
  if (exact?.type === 'counter' || exact?.type === 'histogram') {
    const isRate = around.some((each) => /^(rate|increase)\(/.test(textOf(each)));
    if (!isRate) return [`${name} counts, and is taken without rate or increase`];
    return operator === 'sum' ? [] : [`${name} is aggregated by ${operator}, not by sum`];
  }
  const scope = REGISTERED.find((each) => each.name === name)?.scope;
  if (scope === 'fleet' && operator !== 'max' && operator !== 'min') {
    return [`${name} is the fleet's, and is aggregated by ${operator}, not by max`];
  }
  if (scope === 'daemon' && operator !== 'sum') {
    return [`${name} is the daemon's, and is aggregated by ${operator}, not by sum`];
  }
  return [];
}

function faultsOfGrouping(node: SyntaxNode, textOf: TextOf): string[] {
  const inside = descendants(node, 'VectorSelector').flatMap((selector) => {
    const identifier = selector.getChild('Identifier');
    return identifier ? (KNOWN.get(textOf(identifier)) ?? []) : [];
  });
  const modifier = node.getChild('AggregateModifier');
  const grouped = modifier ? descendants(modifier, 'LabelName').map(textOf) : [];
  return grouped
    .filter((label) => !inside.includes(label))
    .map((label) => `nothing that is grouped by ${label} has it`);
}

function descendants(node: SyntaxNode, name: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  node.cursor().iterate(({ node: each }) => {
    if (each.name === name) found.push(each);
  });
  return found;
}

function ancestors(node: SyntaxNode): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  for (let at = node.parent; at !== null; at = at.parent) found.push(at);
  return found;
}
