/// <reference types="vite/client" />
import { drawingOf, INSIDE_CHARTS } from '../../../src/console/charts/layout.ts';
import type { ChartLayout } from '../../../src/console/api/about.ts';
import { pathsOf, type ActorThen } from './story.ts';

/** All layouts are part of the page, so that a recording can be read without a daemon. */
const files = import.meta.glob<ChartLayout>('../../../generated/charts/*.json', {
  eager: true,
  import: 'default',
});
const layouts = new Map(Object.values(files).map((layout) => [layout.id, layout]));

export interface Drawing {
  readonly layout: ChartLayout;
  readonly lit: readonly string[];
}

/** The chart of an actor with its current states. A machine has a chart for its life, its state and its requests. */
export function drawingsOf({ chart, snapshot: { value } }: ActorThen): Drawing[] {
  if (chart === null) return [];
  const paths = pathsOf(value);
  const drawn: readonly (readonly [string, readonly string[]])[] =
    chart === 'lifecycle' ? machineDrawings(paths) : [[drawingOf(chart), paths]];
  return drawn.flatMap(([id, lit]) => {
    const layout = layouts.get(id);
    return layout ? [{ layout, lit }] : [];
  });
}

function machineDrawings(paths: readonly string[]): [string, readonly string[]][] {
  const below = (prefix: string) =>
    paths.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  const life = paths.includes('Released') ? ['Released'] : below('alive.life.');
  const [state = '', ...inner] = (life[0] ?? '').split('.');
  const inside = INSIDE_CHARTS.filter((name) => name === state);
  return [
    ['life', [state]],
    ...inside.map((name): [string, string[]] => [`inside-${name}`, [inner.join('.')]]),
    ['inside-requests', below('alive.requests.')],
  ];
}
