import { useQuery } from '@tanstack/react-query';
import { INSIDE_CHARTS, WORK_CHARTS, type ChartId } from '../../src/console/charts/layout.ts';
import type { ChartLayout } from '../../src/console/api/about.ts';
import type { LiveMachine, ShownPlace } from '../../src/console/views.ts';
import { untilLook, useNow } from '../live/clock.ts';
import { span } from '../parts/span.ts';
import { Chart } from './chart.tsx';
import { words } from './words.ts';

/** Reads a resource of the API by the parts of its path. */
export type ReadResource = <Result>(
  path: readonly string[],
  signal: AbortSignal,
) => Promise<Result>;

export interface MachineChartsProps {
  readonly slot: readonly [provider: string, slot: string];
  readonly read: ReadResource;
}

const LOOK_MS = 5_000;
/** Steps of tasks change more often than the row of the machine. */
const WORK_LOOK_MS = 1_000;

/** The live statecharts of a machine: its life, its state, and the work on it. */
export function MachineCharts({ slot, read }: MachineChartsProps) {
  const { data: live } = useQuery({
    queryKey: ['live', ...slot],
    queryFn: ({ signal }) => read<LiveMachine>(['machines', ...slot, 'live'], signal),
    // A heartbeat moves the timer, so the page reads again when the timer ends.
    refetchInterval: ({ state: { data } }) =>
      untilLook(data?.task ? WORK_LOOK_MS : LOOK_MS, [data?.timer?.atMs ?? null]),
    retry: false,
  });
  const inside = INSIDE_CHARTS.find((state) => state === live?.shown.state);
  const work = WORK_CHARTS.find((chart) => chart === live?.task?.chart);
  const life = useLayout('life', read);
  const insideLayout = useLayout(inside ? `inside-${inside}` : null, read);
  const workLayout = useLayout(work ?? null, read);
  if (live === undefined) return <p className="quiet">{words.noActor}</p>;
  const { shown, last, timer, task, rows, agrees } = live;
  const at = task?.at ?? null;
  const isBetweenStates = timer !== null && timer.from.state !== timer.to.state;
  const isGoing = timer !== null && nameOf(timer.from) !== nameOf(timer.to);
  return (
    <div className="charts">
      {!agrees && (
        <p role="alert" className="calls">
          {words.apart(nameOf(shown), nameOf(rows))}
        </p>
      )}
      {life && (
        <Chart
          layout={life}
          lit={shown.state}
          rows={agrees ? null : rows.state}
          last={last && { from: last.from.state, to: last.to.state }}
          timer={
            isGoing
              ? {
                  from: timer.from.state,
                  to: timer.to.state,
                  atMs: timer.atMs,
                  inside: isBetweenStates ? null : timer.to.substate,
                }
              : null
          }
        />
      )}
      <LatestChange live={live} />
      {insideLayout && <Chart layout={insideLayout} lit={live.life.split('.')[1] ?? null} />}
      {workLayout && (
        <Chart
          layout={workLayout}
          lit={at}
          timer={failureTimer(workLayout, at, task?.endsAtMs ?? null)}
        />
      )}
    </div>
  );
}

/** A layout never changes while the page is open. */
function useLayout(id: ChartId | null, read: ReadResource): ChartLayout | null {
  const { data } = useQuery({
    queryKey: ['chart', id],
    queryFn: ({ signal }) => read<ChartLayout>(['charts', id!], signal),
    enabled: id !== null,
    staleTime: Infinity,
  });
  return (id !== null && data) || null;
}

const nameOf = ({ state, substate }: ShownPlace): string => `${state} · ${substate}`;

/** The end of patience of a step. */
function failureTimer({ arrows }: ChartLayout, at: string | null, atMs: number | null) {
  const arrow = arrows.find(({ from, kind }) => from === at && kind === 'failure');
  return arrow && atMs !== null ? { from: arrow.from, to: arrow.to, atMs } : null;
}

/** The previous state, its reason, and the next timer, in words. */
function LatestChange({ live: { last, timer } }: { readonly live: LiveMachine }) {
  const now = useNow();
  return (
    <p className="quiet" data-told="ways">
      {last && (
        <span data-told="last">
          {words.last} {nameOf(last.from)} {words.ago(span(now - last.atMs))}
          {last.reason !== null && ` ${words.because(last.reason)}`}.{' '}
        </span>
      )}
      {timer && (
        <span data-told="timer">
          {nameOf(timer.from) === nameOf(timer.to) ? words.again : words.timer(nameOf(timer.to))}{' '}
          {timer.atMs > now ? words.in(span(timer.atMs - now)) : words.due}.
        </span>
      )}
    </p>
  );
}
