import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** All state nodes of a chart, the root first. */
export function nodesOf(chart: AnyStateMachine): AnyStateNode[] {
  const inside = (node: AnyStateNode): AnyStateNode[] => [
    node,
    ...Object.values(node.states).flatMap(inside),
  ];
  return inside(chart.root);
}

/** All transitions of a chart, every guarded candidate and every eventless one by itself. */
export const transitionsOf = (chart: AnyStateMachine): AnyTransitionDefinition[] =>
  nodesOf(chart).flatMap((node) => [
    ...[...node.transitions.values()].flat(),
    ...(node.always ?? []),
  ]);

/** `lifecycle.life.Running --machine.observed [shows Recovering]--> lifecycle.life.Recovering`. */
export function nameOf(transition: AnyTransitionDefinition): string {
  const { source, eventType, guard, target } = transition;
  const siblings = [...(source.transitions.get(eventType) ?? []), ...(source.always ?? [])];
  const at = siblings.indexOf(transition as never);
  const event = eventType === '' ? 'always' : eventType;
  const to = target?.map((node) => node.id).join(', ') ?? 'stays';
  return `${source.id} --${event} #${at}${guard ? ` [${guardName(guard)}]` : ''}--> ${to}`;
}

function guardName(guard: unknown): string {
  if (typeof guard === 'string') return guard;
  const { type, params } = guard as { type?: string; params?: unknown };
  if (typeof params !== 'object' || params === null) return type ?? 'guard';
  return [type, ...Object.values(params)].join(' ');
}

/** Whether a machine can stay in this node: it has no children and no unguarded transition out. */
export const mayRest = (node: AnyStateNode): boolean =>
  Object.keys(node.states).length === 0 && !(node.always ?? []).some(({ guard }) => !guard);

/** The node and everything inside it. */
export const within = (node: AnyStateNode, ancestor: AnyStateNode): boolean =>
  node === ancestor || (node.parent !== undefined && within(node.parent, ancestor));
