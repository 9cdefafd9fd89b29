import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { requests, type Asked } from '../../api/resources.ts';
import { nowMs } from '../../live/clock.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { MachineLink } from '../../parts/machine-link.tsx';
import { More } from '../../parts/more.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, Moment, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { RequestFilters } from './request-filters.tsx';
import { requestFilter, type TrailProps } from './search.ts';

/** The list of requests. */
export function RequestTrail({ search, change }: TrailProps) {
  // The span counts from the moment of the choice. Otherwise the pages would not fit together.
  const filter = useMemo(() => requestFilter(search, nowMs()), [search]);
  const query = useInfiniteQuery(requests(filter, search.follow === 'on'));
  const shown = query.data?.pages.flatMap((page) => page.requests) ?? [];
  return (
    <>
      <RequestFilters {...{ search, change, filter }} />
      <Panel title={texts.audit.kind.requests} className="trail">
        <Loaded query={query}>
          {() =>
            shown.length === 0 ? (
              <p className="quiet">{texts.audit.none}</p>
            ) : (
              <Table label={texts.audit.kind.requests} columns={texts.audit.columns}>
                {shown.map((asked) => (
                  <Row key={asked.key} asked={asked} />
                ))}
              </Table>
            )
          }
        </Loaded>
        <More query={query} text={texts.audit.more} />
      </Panel>
    </>
  );
}

const Row = ({ asked }: { readonly asked: Asked }) => (
  <tr data-request={asked.key} data-standing={asked.state}>
    <th scope="row">
      <Moment atMs={asked.createdAtMs} />
    </th>
    <td>{asked.verb}</td>
    <td>
      <Subject {...asked} />
    </td>
    <td>
      <span className="mono">{asked.by}</span>{' '}
      {asked.proven ? asked.role : <span className="chip">{texts.audit.claim}</span>}
    </td>
    <td className="why">{asked.reason}</td>
    <td className="why">
      <b>{asked.state}</b> {asked.outcome}{' '}
      {asked.settledAtMs === null ? (
        <span className="quiet">
          {texts.audit.expires} <Until atMs={asked.expiresAtMs} />
        </span>
      ) : (
        <span className="quiet">
          <Ago atMs={asked.settledAtMs} />
        </span>
      )}
    </td>
  </tr>
);

function Subject({ slot, pool, balancer, provider }: Asked) {
  if (slot !== null) return <MachineLink slot={slot} />;
  if (pool !== null) return texts.audit.pool(pool, balancer);
  return provider ?? texts.audit.fleet;
}
