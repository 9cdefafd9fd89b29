import { useInfiniteQuery } from '@tanstack/react-query';
import { requests } from '../../api/resources.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

const SHOWN_MAX = 10;

/** Recent requests and their outcomes. */
export function MachineRequests({ slot }: { readonly slot: string }) {
  const query = useInfiniteQuery(requests({ slot }, true));
  return (
    <Panel title={texts.machine.asks} className="asked">
      <Loaded query={query}>
        {({ pages }) => {
          const latest = pages.flatMap((page) => page.requests).slice(0, SHOWN_MAX);
          if (latest.length === 0) return <p className="quiet">{texts.machine.neverAsked}</p>;
          return (
            <Table label={texts.machine.asks} columns={texts.machine.askColumns}>
              {latest.map(({ key, verb, by, proven, state, outcome, reason, createdAtMs }) => (
                <tr key={key} data-request={verb} data-failure={state === 'refused' || undefined}>
                  <td>
                    <Ago atMs={createdAtMs} />
                  </td>
                  <th scope="row">{verb}</th>
                  <td>{proven ? by : texts.machine.claimed(by)}</td>
                  <td>
                    {state}
                    {outcome !== null && <span className="why"> {outcome}</span>}
                  </td>
                  <td className="why">{reason}</td>
                </tr>
              ))}
            </Table>
          );
        }}
      </Loaded>
    </Panel>
  );
}
