import { useEffect, useRef } from 'react';
import type { ChartArrow, ChartState } from '../../src/console/api/about.ts';
import type { ChartLayout } from '../../src/console/api/about.ts';
import { useNow } from '../live/clock.ts';
import { span } from '../parts/span.ts';
import { Scrolls } from '../parts/table.tsx';
import { headOf, placeOn, pointsOf } from './geometry.ts';
import { words } from './words.ts';

/** Charts wider than this are not scaled down. They scroll to the current state. */
const WIDE = 1_200;

/** A transition of a chart. */
export interface Way {
  readonly from: string;
  readonly to: string;
}

export interface ChartProps {
  readonly layout: ChartLayout;
  /** The paths of current states, with dots, one for each parallel region. Null: none. */
  readonly lit: string | readonly string[] | null;
  /** The state by the rows of the database, if it differs. Null: both agree. */
  readonly rows?: string | null;
  /** The last transition. */
  readonly last?: Way | null;
  readonly timer?: TimedWay | null;
}

/** The transition of the next timer; times are epoch ms of the database. */
export interface TimedWay extends Way {
  readonly atMs: number;
  /** The target inside the same state. Null or absent: the target is another state. */
  readonly inside?: string | null;
}

/**
 * Draws a statechart with its layout, current state, outgoing transitions, last transition and timer.
 * Screen readers get a list of its states.
 */
export function Chart({ layout, lit, rows = null, last = null, timer = null }: ChartProps) {
  const all = [lit ?? []].flat();
  const isLit = (id: string) => all.some((each) => each === id || each.startsWith(`${id}.`));
  const isTaken = (way: Way | null, arrow: ChartArrow) =>
    way !== null && way.from === arrow.from && way.to === arrow.to;
  const arrows = layout.arrows.filter(
    (arrow) =>
      arrow.kind !== 'leaving' ||
      isLit(arrow.from) ||
      isTaken(last, arrow) ||
      isTaken(timer, arrow),
  );
  const isBox = ({ id }: ChartState) =>
    layout.states.some((other) => other.id.startsWith(`${id}.`));
  // Compound states are drawn below the arrows inside them.
  const boxes = layout.states.filter(isBox);
  const leaves = layout.states.filter((state) => !isBox(state));
  const draw = (state: ChartState) => (
    <State key={state.id} state={state} isLit={isLit(state.id)} isRows={rows === state.id} />
  );
  const frame = useRef<HTMLDivElement>(null);
  const litBox = layout.states.findLast(({ id }) => isLit(id));
  useEffect(() => {
    const { current } = frame;
    if (!current || !litBox) return;
    current.scrollLeft = litBox.x + litBox.width / 2 - current.clientWidth / 2;
  }, [litBox]);
  return (
    <figure className="chart" data-chart={layout.id}>
      <Scrolls label={layout.title} frame={frame}>
        <svg
          data-wide={layout.width > WIDE || undefined}
          viewBox={`0 0 ${layout.width} ${layout.height}`}
          width={layout.width}
          height={layout.height}
          aria-hidden="true"
        >
          {boxes.map(draw)}
          {arrows.map((arrow) => (
            <Arrow
              key={`${arrow.from} ${arrow.to} ${arrow.label}`}
              arrow={arrow}
              isLeaving={isLit(arrow.from)}
              isLast={isTaken(last, arrow)}
            />
          ))}
          {leaves.map(draw)}
          {timer && <Timer {...timer} layout={layout} />}
        </svg>
      </Scrolls>
      <States layout={layout} lit={all} rows={rows} />
    </figure>
  );
}

interface ArrowProps {
  readonly arrow: ChartArrow;
  readonly isLeaving: boolean;
  readonly isLast: boolean;
}

const Arrow = ({ arrow, isLeaving, isLast }: ArrowProps) => (
  <g
    className="arrow"
    data-kind={arrow.kind}
    data-leaving={isLeaving || undefined}
    data-last={isLast || undefined}
  >
    <polyline points={pointsOf(arrow.points)} />
    <polygon points={headOf(arrow)} />
  </g>
);

interface StateProps {
  readonly state: ChartState;
  readonly isLit: boolean;
  readonly isRows: boolean;
}

const State = ({ state: { id, name, x, y, width, height }, isLit, isRows }: StateProps) => (
  <g className="node" data-state={id} data-lit={isLit || undefined} data-rows={isRows || undefined}>
    <rect x={x} y={y} width={width} height={height} rx="5" />
    <text x={x + 12} y={y + 22}>
      {name}
    </text>
  </g>
);

/**
 * The timer on its arrow. A timer inside the state stands above the box with the name of its target,
 * because other arrows may cross the box.
 */
function Timer({ from, to, atMs, inside, layout }: TimedWay & { layout: ChartLayout }) {
  const left = atMs - useNow();
  const when = left > 0 ? words.in(span(left)) : words.due;
  const arrow = layout.arrows.find((each) => each.from === from && each.to === to);
  const box = layout.states.find(({ id }) => id === from);
  if (!box) return null;
  const [x, y] = arrow ? placeOn(arrow) : [box.x + box.width / 2 + 6, box.y - 10];
  return (
    <text className="timer" x={x} y={y + 4} textAnchor={arrow ? 'middle' : 'start'}>
      {inside ? `${inside} ${when}` : when}
    </text>
  );
}

type StatesProps = Pick<ChartProps, 'layout' | 'rows'> & { readonly lit: readonly string[] };

/** The chart for screen readers: each state, its marks, and its targets. */
const States = ({ layout, lit, rows }: StatesProps) => (
  <ul className="told-only" aria-label={words.statesOf(layout.title)}>
    {layout.states.map(({ id, name, description }) => {
      const targets = layout.arrows.filter(({ from }) => from === id).map(({ to }) => to);
      const told = [
        lit.includes(id) ? `${name}, ${words.current}` : name,
        ...(rows === id ? [words.rows] : []),
        ...(description === null ? [] : [description]),
        ...(targets.length === 0 ? [] : [words.arrowsOf([...new Set(targets)])]),
      ];
      return (
        <li key={id} aria-current={lit.includes(id) ? 'step' : undefined}>
          {told.join('; ')}
        </li>
      );
    })}
  </ul>
);
