import { memo, useEffect, useMemo, useRef } from 'react';
import { Panel } from '../../parts/panel.tsx';
import { Scrolls } from '../../parts/table.tsx';
import { clockOf, type Stepping } from './stepper.tsx';
import type { ActorThen, Step } from './story.ts';
import { words } from './words.ts';

const LANES_MAX = 10;
const LANE_WIDTH = 104;
const ROW_HEIGHT = 26;

/** The messages between actors: a lane for each actor, an arrow for each event, the latest last. */
export function Sequence({ steps, at, isLatest, go }: Stepping) {
  const lanes = useMemo(() => lanesOf(steps), [steps]);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => {
    const current = list.current?.querySelector<HTMLElement>('[aria-current=step]');
    const frame = list.current?.parentElement;
    if (!current || !frame) return;
    const top = current.offsetTop;
    const isSeen =
      top >= frame.scrollTop && top + ROW_HEIGHT <= frame.scrollTop + frame.clientHeight;
    if (!isSeen) frame.scrollTop = top - frame.clientHeight / 2;
  }, [at, isLatest, steps.length]);
  return (
    <Panel title={words.sequence} className="sequence">
      <Scrolls label={words.sequence}>
        <div className="lanes" aria-hidden="true">
          <span />
          {lanes.map((lane) => (
            <span key={lane} title={lane}>
              {lane.split('/').at(-1)}
            </span>
          ))}
        </div>
        <ol ref={list}>
          {steps.map((step, index) => (
            <Row
              key={step.number}
              step={step}
              lanes={lanes}
              isCurrent={index === at}
              take={() => go(index)}
            />
          ))}
        </ol>
      </Scrolls>
    </Panel>
  );
}

interface RowProps {
  readonly step: Step;
  readonly lanes: readonly string[];
  readonly isCurrent: boolean;
  readonly take: () => void;
}

const Row = memo(
  ({ step, lanes, isCurrent, take }: RowProps) => {
    const { kind, from, to, text, atMs } = step;
    const told =
      kind === 'event'
        ? words.said(from?.name ?? words.outside, to.name, text)
        : words.became(to.name, text);
    return (
      <li aria-current={isCurrent ? 'step' : undefined} data-kind={kind}>
        <button type="button" onClick={take}>
          <time className="mono">{clockOf(atMs)}</time>
          <Lanes step={step} lanes={lanes} />
          <span className="mono" aria-hidden="true">
            {text}
          </span>
          <span className="spoken">{told}</span>
        </button>
      </li>
    );
  },
  (one, other) =>
    one.step === other.step && one.lanes === other.lanes && one.isCurrent === other.isCurrent,
);

const middleOf = (lane: number): number => lane * LANE_WIDTH + LANE_WIDTH / 2;

/** The lanes of a line, with its arrow, or with a mark for a change of state. */
function Lanes({ step: { kind, from, to }, lanes }: Pick<RowProps, 'step' | 'lanes'>) {
  const y = ROW_HEIGHT / 2;
  const [begin, end] = [laneOf(from, lanes), laneOf(to, lanes)].map(middleOf) as [number, number];
  const side = end > begin ? -1 : 1;
  return (
    <svg width={lanes.length * LANE_WIDTH} height={ROW_HEIGHT} aria-hidden="true">
      {lanes.map((lane, at) => (
        <line key={lane} x1={middleOf(at)} x2={middleOf(at)} y1="0" y2={ROW_HEIGHT} />
      ))}
      {kind === 'state' && <rect x={end - 5} y={y - 5} width="10" height="10" rx="2" />}
      {kind === 'event' && begin === end && (
        <path d={`M${end},${y - 6} h22 v12 h-14`} className="way" />
      )}
      {kind === 'event' && begin !== end && <path d={`M${begin},${y} H${end}`} className="way" />}
      {kind === 'event' && (
        <polygon
          points={
            begin === end
              ? `${end},${y + 6} ${end + 8},${y + 2} ${end + 8},${y + 10}`
              : `${end},${y} ${end + side * 8},${y - 4} ${end + side * 8},${y + 4}`
          }
        />
      )}
    </svg>
  );
}

/** The lane of an actor. Actors with a chart have their own lane; calls share one, and so do surplus actors. */
function lanesOf(steps: readonly Step[]): readonly string[] {
  const named = new Set<string>();
  for (const { from, to } of steps)
    for (const each of [from, to]) if (each?.chart) named.add(each.name);
  const all = [words.outside, ...named, words.calls];
  return all.length <= LANES_MAX
    ? all
    : [words.outside, ...[...named].slice(0, LANES_MAX - 3), words.others, words.calls];
}

function laneOf(actor: ActorThen | null, lanes: readonly string[]): number {
  if (actor === null) return 0;
  if (actor.chart === null) return lanes.length - 1;
  const found = lanes.indexOf(actor.name);
  return found >= 0 ? found : lanes.length - 2;
}
