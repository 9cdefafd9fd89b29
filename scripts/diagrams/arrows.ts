import type { toDirectedGraph } from '@xstate/graph';
import type { AnyStateNode } from 'xstate';

type Digraph = ReturnType<typeof toDirectedGraph>;

/** One transition of a chart, by the names of its states. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

/** Event transitions from the directed graph, which has no eventless transitions. */
export function arrowsOf(graph: Digraph, name: (node: AnyStateNode) => string): Arrow[] {
  const node = graph.stateNode as AnyStateNode;
  const evented = graph.edges.map((edge) => ({
    from: name(edge.source as AnyStateNode),
    to: name(edge.target as AnyStateNode),
    label: labelOf(edge.label.text, edge.transition.guard),
  }));
  const eventless = (node.always ?? []).flatMap((transition) =>
    (transition.target ?? []).map((target) => ({
      from: name(node),
      to: name(target),
      label: labelOf('', transition.guard),
    })),
  );
  return [...evented, ...eventless, ...graph.children.flatMap((child) => arrowsOf(child, name))];
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

export const unique = (arrows: readonly Arrow[]): Arrow[] => [
  ...new Map(arrows.map((arrow) => [JSON.stringify(arrow), arrow])).values(),
];
