import { Link } from '@tanstack/react-router';
import type { Cells } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Scrolls } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';
import { term } from '../machines/search.ts';
import { countedBy, statesIn } from './counted.ts';

const filterOf = (location: string): string =>
  location === texts.fleet.elsewhere ? '' : `${term('location', location)} `;

/** How many machines are in each state at each location. */
export function Matrix({ cells }: { readonly cells: Cells }) {
  const rows = countedBy(cells, ({ location }) => location ?? texts.fleet.elsewhere);
  const states = statesIn(rows);
  return (
    <Panel title={texts.fleet.matrix} className="matrix">
      <Scrolls label={texts.fleet.matrix}>
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.fleet.location}</th>
              {states.map((state) => (
                <th key={state} scope="col" className="number">
                  <span className="state" data-state={state}>
                    {state}
                  </span>
                </th>
              ))}
              <th scope="col" className="number">
                {texts.fleet.total}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, counts, total }) => (
              <tr key={key}>
                <th scope="row">{key}</th>
                {states.map((state) => (
                  <td key={state} className="number" data-none={!counts[state] || undefined}>
                    {counts[state] === undefined ? (
                      '·'
                    ) : (
                      <Link to="/machines" search={{ filter: `${filterOf(key)}state:${state}` }}>
                        {texts.figure(counts[state])}
                      </Link>
                    )}
                  </td>
                ))}
                <td className="number">{texts.figure(total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </Panel>
  );
}
