import { Link } from '@tanstack/react-router';
import { FILTER_OF, TONE_OF } from '../../../src/domain/headline.ts';
import type { Cells } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Scrolls } from '../../parts/table.tsx';
import { texts } from '../../texts.ts';
import { term } from '../machines/search.ts';
import { countedBy, wordsIn } from './counted.ts';

const filterOf = (location: string): string =>
  location === texts.fleet.elsewhere ? '' : `${term('location', location)} `;

/** Machines by location and state, in the words of the headline. */
export function Matrix({ cells }: { readonly cells: Cells }) {
  const rows = countedBy(cells, ({ location }) => location ?? texts.fleet.elsewhere);
  const words = wordsIn(rows);
  return (
    <Panel title={texts.fleet.matrix} className="matrix">
      <Scrolls label={texts.fleet.matrix}>
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.fleet.location}</th>
              {words.map((word) => (
                <th key={word} scope="col" className="number">
                  <span className="state" data-tone={TONE_OF[word]}>
                    {word}
                  </span>
                </th>
              ))}
              <th scope="col" className="number">
                {texts.fleet.total}
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, headline: { shares, total } }) => (
              <tr key={key}>
                <th scope="row">{key}</th>
                {words.map((word) => {
                  const share = shares.find((each) => each.word === word);
                  return (
                    <td key={word} className="number" data-none={!share || undefined}>
                      {share ? (
                        <Link
                          to="/machines"
                          search={{ filter: `${filterOf(key)}${FILTER_OF[word]}` }}
                        >
                          {texts.figure(share.machines)}
                        </Link>
                      ) : (
                        '·'
                      )}
                    </td>
                  );
                })}
                <td className="number">{texts.figure(total)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
    </Panel>
  );
}
