import { Link } from '@tanstack/react-router';
import type { Cells, Frame } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { term } from '../machines/search.ts';
import { countedBy } from './counted.ts';
import { ShareBar, ShareLinks } from './headline.tsx';

export interface ProviderStripProps extends Pick<Frame, 'unlisted'> {
  readonly cells: Cells;
}

/** Each provider: the states of its machines, and whether it can be listed. */
export const ProviderStrip = ({ cells, unlisted }: ProviderStripProps) => (
  <Panel title={texts.fleet.providers} className="providers">
    <ul>
      {countedBy(cells, ({ provider }) => provider).map(({ key, headline }) => {
        const missed = unlisted.find(({ provider }) => provider === key);
        return (
          <li key={key} data-provider={key}>
            <Link to="/providers/$provider" params={{ provider: key }}>
              {key}
            </Link>
            <span>
              <ShareLinks {...headline} within={`${term('provider', key)} `} />
            </span>
            <ShareBar {...headline} />
            {missed === undefined ? (
              <span className="quiet">{texts.fleet.listed}</span>
            ) : (
              <span className="calls">
                {texts.fleet.notListed} <Since atMs={missed.sinceMs} />
              </span>
            )}
          </li>
        );
      })}
    </ul>
  </Panel>
);
