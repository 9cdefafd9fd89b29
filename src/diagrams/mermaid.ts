import { toDirectedGraph } from '@xstate/graph';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { FOLLOWERS, FROM_ANYWHERE, STATES } from '../domain/states.ts';

type Digraph = ReturnType<typeof toDirectedGraph>;

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** A chart as Mermaid text (`stateDiagram-v2`): every state, every transition. */
export function mermaidOf(machine: AnyStateMachine): string {
  const graph = toDirectedGraph(machine as never);
  const lines = ['stateDiagram-v2', ...inside(machine.root, 1)];
  for (const { from, to, label } of unique(arrowsOf(graph))) {
    lines.push(`  ${from} --> ${to}${label ? ` : ${label}` : ''}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Which state of a machine may follow which, as Mermaid text, from the table that the chart is made from. */
export function overviewOf(): string {
  const arrows = STATES.flatMap((state) =>
    FOLLOWERS[state].map((follower) => `  ${state} --> ${follower}`),
  );
  const anywhere = FROM_ANYWHERE.map((state) => `  anywhere --> ${state}`);
  return `${[
    'stateDiagram-v2',
    `  [*] --> ${STATES[0]}`,
    '  state "any state" as anywhere',
    ...arrows,
    ...anywhere,
    '  Released --> [*]',
  ].join('\n')}\n`;
}

/** Mermaid ids may not hold dots. */
const idOf = (node: AnyStateNode): string => [node.machine.id, ...node.path].join('_');

function inside(node: AnyStateNode, depth: number): string[] {
  const pad = '  '.repeat(depth);
  const lines: string[] = [];
  const children = Object.values(node.states);
  if (node.type === 'compound') {
    for (const start of node.initial.target) lines.push(`${pad}[*] --> ${idOf(start)}`);
  }
  children.forEach((child, index) => {
    if (node.type === 'parallel' && index > 0) lines.push(`${pad}--`);
    lines.push(`${pad}state "${child.key}" as ${idOf(child)}`);
    if (child.type === 'final') lines.push(`${pad}${idOf(child)} --> [*]`);
    if (Object.keys(child.states).length > 0) {
      lines.push(`${pad}state ${idOf(child)} {`, ...inside(child, depth + 1), `${pad}}`);
    }
  });
  return lines;
}

/** Event transitions come from the directed graph; eventless ones it leaves out. */
function arrowsOf(graph: Digraph): Arrow[] {
  const node = graph.stateNode as AnyStateNode;
  const evented = graph.edges.map((edge) => ({
    from: idOf(edge.source as AnyStateNode),
    to: idOf(edge.target as AnyStateNode),
    label: labelOf(edge.label.text, edge.transition.guard),
  }));
  const eventless = (node.always ?? []).flatMap((transition) =>
    (transition.target ?? []).map((target) => ({
      from: idOf(node),
      to: idOf(target),
      label: labelOf('', transition.guard),
    })),
  );
  return [...evented, ...eventless, ...graph.children.flatMap(arrowsOf)];
}

function labelOf(event: string, guard: unknown): string {
  const condition = guardText(guard);
  return [eventText(event), condition && `[${condition}]`].filter(Boolean).join(' ');
}

/** `xstate.done.actor.poke` reads "poke done", a delayed event "after pokePeriod". */
function eventText(event: string): string {
  const [, kind, , rest] = /^xstate\.(\w+)\.(actor\.|state\.)?(.+)$/.exec(event) ?? [];
  switch (kind) {
    case 'done':
      return `${rest} done`;
    case 'error':
      return `${rest} failed`;
    case 'snapshot':
      return `${rest} moves on`;
    case 'after':
      return `after ${rest!.split('.')[0]}`;
    default:
      return event;
  }
}

function guardText(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const { type, params } = (guard ?? {}) as { type?: string; params?: unknown };
  if (!type) return '';
  const fixed = typeof params === 'object' && params !== null ? Object.values(params) : [];
  return [type, ...fixed.map(String)].join(' ');
}

const unique = (arrows: readonly Arrow[]): Arrow[] => [
  ...new Map(arrows.map((arrow) => [JSON.stringify(arrow), arrow])).values(),
];
