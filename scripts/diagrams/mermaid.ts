import { toDirectedGraph } from '@xstate/graph';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { FROM_ANYWHERE, STATES } from '../../src/domain/states.ts';
import { arrowsOf, unique } from './arrows.ts';

/** A chart as Mermaid text (`stateDiagram-v2`): every state, every transition. */
export function mermaidOf(machine: AnyStateMachine): string {
  const graph = toDirectedGraph(machine as never);
  const lines = ['stateDiagram-v2', ...inside(machine.root, 1)];
  for (const { from, to, label } of unique(arrowsOf(graph, idOf))) {
    lines.push(`  ${from} --> ${to}${label ? ` : ${label}` : ''}`);
  }
  return `${lines.join('\n')}\n`;
}

/** The nine states of a machine and the arrows between them, as Mermaid text for one page. */
export function overviewOf(machine: AnyStateMachine): string {
  const life = machine.root.states['alive']!.states['life']!;
  const shown = Object.values(life.states).filter(({ key }) => key !== 'resyncing');
  const arrows = shown
    .flatMap((node) => arrowsOf(toDirectedGraph(node as never), stateOf))
    .filter(({ from, to }) => from !== to && (STATES as readonly string[]).includes(to))
    .filter(({ to }) => !(FROM_ANYWHERE as readonly string[]).includes(to))
    .map(({ from, to }) => `  ${from} --> ${to}`);
  return `${[
    'stateDiagram-v2',
    `  [*] --> ${STATES[0]}`,
    ...new Set(arrows),
    '  state "any state" as anywhere',
    ...FROM_ANYWHERE.map((state) => `  anywhere --> ${state}`),
    '  Released --> [*]',
  ].join('\n')}\n`;
}

/** The name of the machine's state that contains this part of the chart. */
const stateOf = ({ path }: AnyStateNode): string =>
  path.find((key) => (STATES as readonly string[]).includes(key)) ?? path.join('_');

/** Mermaid ids may not contain dots. */
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
