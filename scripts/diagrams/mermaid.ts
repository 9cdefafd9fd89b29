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

/**
 * The life of a machine on one page, as Mermaid text: its states with what they hold, the arrows of
 * the table that the chart is made from, and what begins a task. How news are taken in is left out.
 */
export function overviewOf(machine: AnyStateMachine): string {
  const life = machine.root.states['alive']!.states['life']!;
  const shown = Object.values(life.states).filter(({ key }) => key !== 'resyncing');
  const ids = new Set(shown.flatMap((node) => [node, ...Object.values(node.states)]).map(nameOf));
  const arrows = shown
    .flatMap((node) => arrowsOf(toDirectedGraph(node as never), nameOf))
    .filter(({ from, to }) => from !== to && (ids.has(to) || to === 'Released'))
    .map(({ from, to, label }) => `  ${from} --> ${to}${wordsOf(label)}`);
  return `${[
    'stateDiagram-v2',
    `  [*] --> ${STATES[0]}`,
    '  state "any state" as anywhere',
    ...shown.flatMap((node) => boxOf(node, 1)),
    ...new Set(arrows),
    ...FROM_ANYWHERE.map((state) => `  anywhere --> ${state}`),
    '  Released --> [*]',
  ].join('\n')}\n`;
}

/** By the names below the region of life: `Running`, `Running_waiting`. */
const nameOf = (node: AnyStateNode): string =>
  node.path.filter((key) => key !== 'alive' && key !== 'life').join('_');

function boxOf(node: AnyStateNode, depth: number): string[] {
  const pad = '  '.repeat(depth);
  const children = Object.values(node.states);
  if (children.length === 0) return [`${pad}state "${node.key}" as ${nameOf(node)}`];
  return [
    `${pad}state ${nameOf(node)} {`,
    ...children.flatMap((child) => boxOf(child, depth + 1)),
    `${pad}}`,
  ];
}

/** News need no words, for the arrow says what they show. */
const wordsOf = (label: string): string => {
  if (label.startsWith('[dueFor')) return ' : work is due';
  return label.startsWith('awaitTurn done') ? ' : its turn has come' : '';
};

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
