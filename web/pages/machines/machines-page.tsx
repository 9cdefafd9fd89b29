import { useMutation } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Actions, VERBS_OF_MANY } from '../../acts/actions.tsx';
import { readFilter } from '../../../src/domain/machine-filter.ts';
import { texts } from '../../texts.ts';
import { Notice } from '../../parts/panel.tsx';
import { FilterBar } from './filter-bar.tsx';
import { MachineTable, type Select } from './machine-table.tsx';
import { changed, driftOf, matching, NOTHING, SELECTED_MAX } from './selection.ts';
import { columnsOf } from './columns.tsx';
import type { ListSearch } from './search.ts';
import { useList } from './use-list.ts';

const route = getRouteApi('/machines');

/** The list of machines in the order of the server. Filter, sort and columns are in the address. */
export function MachinesPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [seen, setSeen] = useState({ first: 0, last: 40 });
  const { filter = '', sort = 'slot' } = search;
  const [selected, setSelected] = useState(NOTHING);
  const select: Select = (rows, isIn) => setSelected((before) => changed(before, rows, isIn));
  const { faults } = readFilter(filter);
  const list = useList({ filter: faults.length > 0 ? null : filter, sort, ...seen });
  const selecting = useMutation({ mutationFn: matching, onSuccess: setSelected });
  const { filter: chosen } = selected;
  const change = (next: ListSearch) =>
    void navigate({ to: '/machines', search: { ...search, ...next }, replace: true });
  return (
    <div className="machines">
      <h1 className="spoken">{texts.pages.machines}</h1>
      <FilterBar search={search} total={list.total} change={change} />
      {selected.machines.size > 0 && (
        <div className="selection">
          <p role="status">{texts.acts.selected(selected.machines.size)}</p>
          {list.total !== null && list.total > selected.machines.size && (
            <button
              type="button"
              disabled={list.total > SELECTED_MAX || selecting.isPending}
              title={list.total > SELECTED_MAX ? texts.acts.selectMost(SELECTED_MAX) : undefined}
              onClick={() => selecting.mutate(filter)}
            >
              {texts.acts.selectAll(list.total)}
            </button>
          )}
          <button type="button" onClick={() => setSelected(NOTHING)}>
            {texts.acts.unselect}
          </button>
          <Actions
            verbs={VERBS_OF_MANY}
            slots={[...selected.machines.keys()]}
            checked={{
              drift: (look) => driftOf(selected, look),
              // The filter of the list may be another one by now.
              selectAgain: chosen === null ? undefined : () => selecting.mutateAsync(chosen),
            }}
          />
        </div>
      )}
      {[list.error, selecting.error].map(
        (error) =>
          error !== null && (
            <Notice key={error.message} tone="bad">
              {error.message}
            </Notice>
          ),
      )}
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
          selected={selected.machines}
          select={select}
          unselect={() => setSelected(NOTHING)}
          see={setSeen}
        />
      )}
    </div>
  );
}
