import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Actions } from '../../acts/actions.tsx';
import { VERBS_OF_MANY } from '../../acts/verbs.ts';
import { readFilter } from '../../../src/domain/machine-filter.ts';
import { texts } from '../../texts.ts';
import { Notice } from '../../parts/panel.tsx';
import { FilterBar } from './filter-bar.tsx';
import { MachineTable } from './machine-table.tsx';
import { columnsOf } from './columns.tsx';
import type { ListSearch } from './search.ts';
import { useList } from './use-list.ts';

const route = getRouteApi('/machines');

/** All machines, or those that are asked for, in the server's order. Everything chosen is in the address. */
export function MachinesPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [seen, setSeen] = useState({ first: 0, last: 40 });
  const { filter = '', sort = 'slot' } = search;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = (slot: string) =>
    setSelected((before) => before.symmetricDifference(new Set([slot])));
  const { faults } = readFilter(filter);
  const list = useList({ filter: faults.length > 0 ? null : filter, sort, ...seen });
  const change = (next: ListSearch) =>
    void navigate({ to: '/machines', search: { ...search, ...next }, replace: true });
  return (
    <div className="machines">
      <h1 className="spoken">{texts.pages.machines}</h1>
      <FilterBar search={search} total={list.total} change={change} />
      {selected.size > 0 && (
        <div className="selection">
          <p role="status">{texts.acts.selected(selected.size)}</p>
          <button type="button" onClick={() => setSelected(new Set())}>
            {texts.acts.unselect}
          </button>
          <Actions verbs={VERBS_OF_MANY} slots={[...selected]} />
        </div>
      )}
      {list.error !== null && <Notice tone="bad">{list.error.message}</Notice>}
      {faults.length > 0 ? (
        <Notice tone="bad" title={texts.machines.unreadable}>
          <ul role="alert">
            {faults.map(({ part, detail }) => (
              <li key={part}>
                <code>{part}</code>: {detail}
              </li>
            ))}
          </ul>
          <p>{texts.machines.filterHelp}</p>
        </Notice>
      ) : list.total === 0 ? (
        <Notice tone="quiet" title={filter === '' ? texts.fleet.empty : texts.machines.none}>
          <p>{filter === '' ? texts.fleet.emptyWhy : texts.machines.noneWhy}</p>
        </Notice>
      ) : (
        <MachineTable
          key={`${filter} ${sort}`}
          columns={columnsOf(search.columns)}
          sort={sort}
          sortBy={(name) => change({ sort: name })}
          list={list}
          selected={selected}
          toggle={toggle}
          see={setSeen}
        />
      )}
    </div>
  );
}
