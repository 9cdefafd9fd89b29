import { useInfiniteQuery } from '@tanstack/react-query';
import type { PublishedEvent } from '../../../src/console/api/event-schema.ts';
import { eventsBack } from '../../api/events.ts';
import { Loaded } from '../../parts/loaded.tsx';
import { MachineLink } from '../../parts/machine-link.tsx';
import { More } from '../../parts/more.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Table } from '../../parts/table.tsx';
import { Moment } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';
import { Download } from './download.tsx';
import { Follow } from './follow.tsx';
import type { TrailProps } from './search.ts';

/** Events: decisions about machines, freezes, logins and tokens. */
export function EventTrail({ search, change }: TrailProps) {
  const query = useInfiniteQuery(eventsBack(search.type, search.follow === 'on'));
  const shown = query.data?.pages.flatMap(({ events }) => events) ?? [];
  return (
    <>
      <div className="filters" role="search" aria-label={texts.audit.filters}>
        <select
          value={search.type ?? ''}
          aria-label={texts.audit.type}
          onChange={({ target }) => change({ type: target.value })}
        >
          {Object.entries(texts.audit.types).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <Follow search={search} change={change} />
        <Download of="events" query={{ type: search.type }} />
      </div>
      <Panel title={texts.audit.kind.events} className="trail">
        <Loaded query={query}>
          {() =>
            shown.length === 0 ? (
              <p className="quiet">{texts.audit.none}</p>
            ) : (
              <Table label={texts.audit.kind.events} columns={texts.audit.eventColumns}>
                {shown.map((event) => (
                  <Row key={event.number} event={event} />
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

const Row = ({ event }: { readonly event: PublishedEvent }) => (
  <tr data-event={event.type}>
    <th scope="row">
      <Moment atMs={event.atMs} />
    </th>
    <td>{event.type}</td>
    <td>
      {event.slot === null ? (event.provider ?? scopeOf(event)) : <MachineLink slot={event.slot} />}
    </td>
    <td className="mono">{event.actor}</td>
    <td className="why">
      {event.reason} {event.to !== null && <b>{texts.audit.became(event.from, event.to)}</b>}
    </td>
  </tr>
);

/** The target of an event without a machine. */
function scopeOf({ details }: PublishedEvent): string {
  const { scope, verb, name } = details as Readonly<Record<string, unknown>>;
  const told = [scope, verb, name].find((each) => typeof each === 'string');
  return typeof told === 'string' ? told : texts.none;
}
