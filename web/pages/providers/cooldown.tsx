import { AskButton } from '../../acts/at-large.tsx';
import type { ProviderInFull } from '../../api/types.ts';
import { shortName } from '../../../src/domain/ids.ts';
import { MachineLink, partsOf } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** Slots that are set aside after a failed creation. */
export const Cooldown = ({ provider, shelf }: Pick<ProviderInFull, 'provider' | 'shelf'>) => (
  <Panel title={texts.providers.shelf} aside={moreOf(shelf.total, shelf.slots.length)}>
    {shelf.total === 0 ? (
      <p className="quiet">{texts.providers.noShelf}</p>
    ) : (
      <Table label={texts.providers.shelf} columns={texts.providers.shelfColumns}>
        {shelf.slots.map(({ slot, untilMs, cause }) => (
          <tr key={slot}>
            <th scope="row">
              <MachineLink slot={slot} />
            </th>
            <td>
              <Until atMs={untilMs} />
            </td>
            <td className="why">{cause}</td>
            <td>
              <AskButton
                label={texts.providers.takeOff}
                subject={shortName(slot)}
                wish={{ verb: 'clear-provider', provider, shelf: [partsOf(slot).slot] }}
                provider={provider}
              />
            </td>
          </tr>
        ))}
      </Table>
    )}
  </Panel>
);

/** Number of entries that are not shown. */
export const moreOf = (total: number, told: number) =>
  total > told && <span>{texts.providers.more(total - told)}</span>;
