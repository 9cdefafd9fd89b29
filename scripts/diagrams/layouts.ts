import { toDirectedGraph } from '@xstate/graph';
import type { ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { INSIDE_CHARTS, SERVICE_CHARTS, WORK_CHARTS } from '../../src/console/charts/layout.ts';
import type { ChartArrow, ChartLayout, ChartState } from '../../src/console/api/about.ts';
import { STATES, type MachineState } from '../../src/domain/states.ts';
import { balancer } from '../../src/machines/balancer.ts';
import { deprovision } from '../../src/machines/deprovision.ts';
import { fleet } from '../../src/machines/fleet.ts';
import { guard } from '../../src/machines/guard.ts';
import { lifecycle } from '../../src/machines/lifecycle.ts';
import { provisioner } from '../../src/machines/provisioner.ts';
import { recovery } from '../../src/machines/recovery.ts';
import { session } from '../../src/machines/session.ts';
import { agentStart } from '../../src/machines/agent-start.ts';
import { arrowsOf, unique, type Arrow } from './arrows.ts';
import { wayBetween, type Box } from './ways.ts';

const WHOLE = [...WORK_CHARTS, ...SERVICE_CHARTS] as const;
type Whole = (typeof WHOLE)[number];
const MACHINES: Readonly<Record<Whole, AnyStateMachine>> = {
  takeover: agentStart,
  recovery,
  deprovision,
  balancer,
  fleet,
  session,
  guard,
  provisioner,
};
const PURPOSES: Readonly<Record<Whole, string>> = {
  takeover: 'The start of an agent',
  recovery: 'One attempt to bring a machine back',
  deprovision: 'Giving a machine back to its provider',
  balancer: 'One pool at one load balancer',
  fleet: 'The supervisor of a daemon',
  session: 'The session of a daemon',
  guard: 'The guard of the fleet',
  provisioner: 'Machines made of free capacity',
};

/** A drawing before its layout. */
interface Sketch {
  readonly id: string;
  readonly title: string;
  readonly states: readonly AnyStateNode[];
  readonly nameOf: (node: AnyStateNode) => string;
  readonly arrows: readonly Omit<ChartArrow, 'points'>[];
}

/** All layouts, by path below the root of the repository, as they are committed. */
export async function layoutDocuments(): Promise<Map<string, string>> {
  const documents = new Map<string, string>();
  for (const sketch of sketches()) {
    const layout = await layoutOf(sketch);
    documents.set(`generated/charts/${sketch.id}.json`, textOf(layout));
  }
  return documents;
}

function sketches(): Sketch[] {
  const { life, requests } = lifecycle.root.states['alive']!.states as Record<
    'life' | 'requests',
    AnyStateNode
  >;
  return [
    lifeOf(life),
    ...INSIDE_CHARTS.map((name) => insideOf(life.states[name]!)),
    insideOf(requests),
    ...WHOLE.map((name) => wholeOf(name, MACHINES[name])),
  ];
}

/** The usual path of a machine's life. */
const MAIN: readonly (readonly [MachineState, MachineState])[] = [
  ['Reserved', 'Provisioned'],
  ['Provisioned', 'AgentStarting'],
  ['AgentStarting', 'Running'],
  ['Running', 'Recovering'],
  ['Recovering', 'Provisioned'],
  ['Running', 'HandedOver'],
  ['Deprovisioning', 'Reserved'],
  ['Deprovisioning', 'Released'],
];

/**
 * The nine states. If another process acts, any state may follow any other; the drawing leaves
 * those arrows out.
 */
function lifeOf(life: AnyStateNode): Sketch {
  const released = lifecycle.root.states['Released']! as AnyStateNode;
  const states = STATES.map((name) => life.states[name] ?? released);
  const nameOf = ({ path }: AnyStateNode) =>
    path.find((key) => (STATES as readonly string[]).includes(key)) ?? path.join('.');
  const arrows = lifeArrows(life, nameOf).map(({ from, to }) => {
    const isMain = MAIN.some(([source, target]) => source === from && target === to);
    return { from, to, label: '', kind: isMain ? ('main' as const) : ('leaving' as const) };
  });
  return { id: 'life', title: 'The life of a machine', states, nameOf, arrows };
}

/** The chart's arrows; an arrow common to all states is drawn for each. */
function lifeArrows(life: AnyStateNode, nameOf: (node: AnyStateNode) => string): Arrow[] {
  const names: readonly string[] = STATES;
  const region = nameOf(life);
  const found = arrowsOf(toDirectedGraph(life as never), nameOf).flatMap((arrow) =>
    arrow.from === region ? STATES.map((from) => ({ ...arrow, from })) : [arrow],
  );
  const between = found.filter(
    ({ from, to }) =>
      from !== to && from !== 'Released' && names.includes(from) && names.includes(to),
  );
  return unique(between.map((arrow) => ({ ...arrow, label: '' })));
}

function insideOf(state: AnyStateNode): Sketch {
  const nameOf = ({ key }: AnyStateNode) => key;
  const children = Object.values(state.states);
  const keys = new Set(children.map(({ key }) => key));
  const isOwn = ({ parent }: AnyStateNode) => parent === state;
  const arrows = children
    .flatMap((child) =>
      arrowsOf(toDirectedGraph(child as never), (node) => (isOwn(node) ? node.key : '')),
    )
    .filter(({ from, to }) => from !== to && keys.has(from) && keys.has(to));
  return {
    id: `inside-${state.key}`,
    title: `Inside of ${state.key}`,
    states: children,
    nameOf,
    arrows: unique(arrows.map((arrow) => ({ ...arrow, label: '' }))).map(asMain),
  };
}

function wholeOf(id: Whole, { root }: AnyStateMachine): Sketch {
  const nameOf = ({ path }: AnyStateNode) => path.join('.');
  const arrows = arrowsOf(toDirectedGraph(root as never), nameOf).filter(
    ({ from, to }) => from !== to && from !== '',
  );
  return {
    id,
    title: PURPOSES[id],
    states: below(root),
    nameOf,
    arrows: unique(arrows).map(({ from, to, label }) => {
      const isFailure = / failed\b/.test(label);
      return { from, to, label, kind: isFailure ? 'failure' : 'main' };
    }),
  };
}

const asMain = (arrow: Arrow) => ({ ...arrow, kind: 'main' as const });
const below = (node: AnyStateNode): AnyStateNode[] =>
  Object.values(node.states).flatMap((child) => [child, ...below(child)]);

const LETTER = 8;
const ROOM = { x: 28, y: 36 };
const OPTIONS = {
  'elk.algorithm': 'layered',
  'elk.direction': 'RIGHT',
  'elk.edgeRouting': 'ORTHOGONAL',
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.considerModelOrder.strategy': 'PREFER_NODES',
  'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
  'elk.layered.spacing.nodeNodeBetweenLayers': '40',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.componentComponent': '24',
  'elk.padding': '[top=16,left=16,bottom=16,right=16]',
} as const;
const INNER_PADDING = { 'elk.padding': '[top=36,left=14,bottom=14,right=14]' } as const;

async function layoutOf(sketch: Sketch): Promise<ChartLayout> {
  const { default: elk } = await import('elkjs/lib/elk.bundled.js');
  const drawn = sketch.arrows.filter(({ kind }) => kind !== 'leaving');
  const { states, nameOf } = sketch;
  const roots = states.filter(({ parent }) => !parent || !states.includes(parent));
  const graph: ElkNode = {
    id: 'root',
    layoutOptions: OPTIONS,
    children: roots.map((node) => boxOf(node, sketch)),
    edges: drawn.map(({ from, to }, at) => ({ id: `${at}`, sources: [from], targets: [to] })),
  };
  const laid = await new elk.default().layout(graph);
  const boxes = placed(laid, { x: 0, y: 0 });
  const routes = new Map(edgesOf(laid).map((edge) => [edge.id, routeOf(edge, boxes)]));
  const arrows = sketch.arrows.map((arrow): ChartArrow => {
    const route = routes.get(`${drawn.indexOf(arrow)}`);
    const [from, to] = [boxes.get(arrow.from)!, boxes.get(arrow.to)!];
    return { ...arrow, points: route ?? wayBetween(from, to, [...boxes.values()]) };
  });
  return {
    id: sketch.id,
    title: sketch.title,
    width: Math.ceil(laid.width!),
    height: Math.ceil(laid.height!),
    states: states.map((node): ChartState => {
      const description = node.description ?? null;
      return { id: nameOf(node), name: node.key, description, ...boxes.get(nameOf(node))! };
    }),
    arrows,
  };
}

function boxOf(node: AnyStateNode, sketch: Sketch): ElkNode {
  const children = Object.values(node.states).filter((child) => sketch.states.includes(child));
  const id = sketch.nameOf(node);
  const width = node.key.length * LETTER + ROOM.x;
  if (children.length === 0) return { id, width, height: ROOM.y };
  return {
    id,
    layoutOptions: INNER_PADDING,
    children: children.map((child) => boxOf(child, sketch)),
  };
}

/** The position of each box in the whole drawing. */
function placed({ children = [] }: ElkNode, from: { x: number; y: number }): Map<string, Box> {
  return new Map(
    children.flatMap((child): [string, Box][] => {
      const { x: left = 0, y: top = 0, width = 0, height = 0 } = child;
      const at = { x: from.x + left, y: from.y + top };
      const box = { x: whole(at.x), y: whole(at.y), width: whole(width), height: whole(height) };
      return [[child.id, box], ...placed(child, at)];
    }),
  );
}

const whole = (length: number): number => Math.round(length);

const edgesOf = ({ edges = [], children = [] }: ElkNode): ElkExtendedEdge[] => [
  ...edges,
  ...children.flatMap(edgesOf),
];

/** Bends are relative to the edge's container. */
function routeOf(edge: ElkExtendedEdge, boxes: ReadonlyMap<string, Box>): ChartArrow['points'] {
  const { container } = edge as { readonly container?: string };
  const { x, y } = boxes.get(container ?? 'root') ?? { x: 0, y: 0 };
  const { startPoint, bendPoints = [], endPoint } = edge.sections![0]!;
  return [startPoint, ...bendPoints, endPoint].map((at) => [whole(x + at.x), whole(y + at.y)]);
}

/** One line per state and arrow, so that changes are readable. */
function textOf({ states, arrows, ...head }: ChartLayout): string {
  const lines = (all: readonly object[]) =>
    all.map((each) => `    ${JSON.stringify(each)}`).join(',\n');
  const { id, title, width, height } = head;
  const first = JSON.stringify({ id, title, width, height })
    .slice(1, -1)
    .replaceAll(',"', ',\n  "');
  return `{\n  ${first},\n  "states": [\n${lines(states)}\n  ],\n  "arrows": [\n${lines(arrows)}\n  ]\n}\n`;
}
