import type { ReactNode } from 'react';
import type { MachineState } from '../../../src/domain/states.ts';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

export interface Line {
  readonly name: string;
  /** The state that gives the line its colour. */
  readonly state: MachineState;
  readonly mark: ReactNode;
  readonly values: readonly number[];
}

export interface GraphProps {
  readonly label: string;
  /** Times of the values, epoch ms, oldest first; at least two. */
  readonly atMs: readonly number[];
  readonly lines: readonly Line[];
}

const WIDTH = 1_000;
const HEIGHT = 100;

/** Lines over time, with the current values. Screen readers get the range of each line. */
export function Graph({ label, atMs, lines }: GraphProps) {
  const [beganAtMs, endMs] = [atMs[0]!, atMs.at(-1)!];
  const most = Math.max(1, ...lines.map(({ values }) => Math.max(...values)));
  const pointOf = (value: number, at: number): string => {
    const x = ((atMs[at]! - beganAtMs) / (endMs - beganAtMs)) * WIDTH;
    return `${x.toFixed(1)},${(HEIGHT - (value / most) * HEIGHT).toFixed(1)}`;
  };
  return (
    <figure className="graph">
      <figcaption>
        {label}
        <ul>
          {lines.map(({ name, mark, values }) => (
            <li key={name} data-line={name}>
              {mark} <b>{shown(values.at(-1) ?? 0)}</b>
            </li>
          ))}
        </ul>
      </figcaption>
      <svg
        role="img"
        aria-label={lines.map(rangeOf).join('; ')}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {lines.map(({ name, state, values }) => (
          <polyline
            key={name}
            data-name={name}
            data-state={state}
            points={values.map(pointOf).join(' ')}
          />
        ))}
      </svg>
      <p className="ends">
        <Ago atMs={beganAtMs} /> <span>{texts.lastHour.most(shown(most))}</span>
        <span>{texts.due}</span>
      </p>
    </figure>
  );
}

const shown = (value: number): string => texts.figure(Math.round(value * 10) / 10);
const rangeOf = ({ name, values }: Line): string =>
  texts.lastHour.range(name, shown(Math.min(...values)), shown(Math.max(...values)));
