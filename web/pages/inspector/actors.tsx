import { Chart } from '../../chart/chart.tsx';
import { Panel } from '../../parts/panel.tsx';
import { drawingsOf } from './layouts.ts';
import { isOver, stateText, type Actors, type ActorThen } from './story.ts';
import { words } from './words.ts';

const DEPTH_MAX = 3;

export interface ActorTreeProps {
  readonly actors: Actors;
  readonly chosen: string | null;
  readonly choose: (id: string) => void;
}

/** Parents before children, in the order of appearance. */
export function ActorTree({ actors, chosen, choose }: ActorTreeProps) {
  return (
    <Panel title={words.actors} className="actor-tree">
      {actors.size === 0 && <p className="quiet">{words.noActors}</p>}
      <ul>
        {inTreeOrder(actors).map(([actor, depth]) => (
          <li key={actor.id} data-over={isOver(actor) || undefined} data-depth={depth}>
            <button
              type="button"
              aria-current={actor.id === chosen}
              onClick={() => choose(actor.id)}
            >
              <span className="mono">{actor.name}</span> <b>{stateText(actor)}</b>
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function inTreeOrder(actors: Actors): [ActorThen, depth: number][] {
  const children = Map.groupBy(actors.values(), ({ parent }) =>
    parent !== null && actors.has(parent) ? parent : null,
  );
  const walk = (parent: string | null, depth: number): [ActorThen, number][] =>
    (children.get(parent) ?? []).flatMap((actor) => [
      [actor, Math.min(depth, DEPTH_MAX)],
      ...walk(actor.id, depth + 1),
    ]);
  return walk(null, 0);
}

/** One actor at the chosen step. */
export function ActorPanel({ actor }: { readonly actor: ActorThen }) {
  const { name, chart, snapshot } = actor;
  const drawings = drawingsOf(actor);
  return (
    <Panel title={<span className="mono">{name}</span>} aside={<b>{stateText(actor)}</b>}>
      <div className="charts">
        {chart === null && <p className="quiet">{words.noChart}</p>}
        {chart !== null && drawings.length === 0 && <p className="quiet">{words.noStates}</p>}
        {drawings.map(({ layout, lit }) => (
          <Chart key={layout.id} layout={layout} lit={lit} />
        ))}
      </div>
      {snapshot.error !== undefined && (
        <p className="calls">
          {words.error}: {JSON.stringify(snapshot.error)}
        </p>
      )}
      <details>
        <summary>{words.context}</summary>
        <pre tabIndex={0}>{JSON.stringify(snapshot.context ?? null, null, 2)}</pre>
      </details>
    </Panel>
  );
}
