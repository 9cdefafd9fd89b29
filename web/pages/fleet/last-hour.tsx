import { useQuery } from '@tanstack/react-query';
import { memo } from 'react';
import { STATES, type MachineState } from '../../../src/domain/states.ts';
import { series, type Series } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StateMark } from '../../parts/state.tsx';
import { texts } from '../../texts.ts';
import { Graph, type Line } from './graph.tsx';

/** The last hour: states, heartbeats and recoveries. */
export const LastHour = () => (
  <Panel
    title={texts.lastHour.title}
    aside={<span className="quiet">{texts.lastHour.of}</span>}
    className="last-hour"
  >
    <Loaded query={useQuery(series)}>
      {(told) =>
        told.atMs.length < 2 ? (
          <p className="quiet">{texts.lastHour.tooEarly}</p>
        ) : (
          <Graphs told={told} />
        )
      }
    </Loaded>
  </Panel>
);

/** Redraws only for new values, and not for every frame of the fleet. */
const Graphs = memo(({ told }: { readonly told: Series }) => (
  <div className="graphs">
    {graphsOf(told).map((graph) => (
      <Graph key={graph.label} {...graph} atMs={told.atMs} />
    ))}
  </div>
));

interface GraphOf {
  readonly label: string;
  readonly lines: readonly Line[];
}

function graphsOf({ states, silent, heartbeats, recoveries, stepMs }: Series): readonly GraphOf[] {
  const perSecond = heartbeats.map((count) => (count * 1_000) / stepMs);
  return [
    {
      label: texts.lastHour.states,
      lines: [
        ...STATES.flatMap((state): Line[] => {
          const values = states[state];
          return values ? [{ name: state, state, mark: <StateMark state={state} />, values }] : [];
        }),
        ...(silent.some((count) => count > 0)
          ? [lineOf(texts.lastHour.silent, 'Quarantined', silent)]
          : []),
      ],
    },
    {
      label: texts.lastHour.heartbeats,
      lines: [lineOf(texts.lastHour.perSecond, 'Running', perSecond)],
    },
    {
      label: texts.lastHour.recoveries,
      lines: [lineOf(texts.lastHour.begun, 'Recovering', recoveries)],
    },
  ];
}

/** A line in the colour of a state, with its own name. */
const lineOf = (name: string, state: MachineState, values: readonly number[]): Line => ({
  name,
  state,
  mark: (
    <span className="state" data-state={state}>
      {name}
    </span>
  ),
  values,
});
