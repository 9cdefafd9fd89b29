import { useMutation } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Actions, VERBS_OF_MANY } from '../../acts/actions.tsx';
import { addressOf, read } from '../../api/ask.ts';
import type { MachineRow } from '../../api/types.ts';
import { readFilter } from '../../../src/domain/machine-filter.ts';
import { texts } from '../../texts.ts';
import { Notice } from '../../parts/panel.tsx';
import { FilterBar, SELECTED_MAX } from './filter-bar.tsx';
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
  const selecting = useMutation({ mutationFn: () => slotsOf(filter), onSuccess: setSelected });
  const change = (next: ListSearch) =>
    void navigate({ to: '/machines', search: { ...search, ...next }, replace: true });
  return (
    <div className="machines">
      <h1 className="spoken">{texts.pages.machines}</h1>
      <FilterBar
        search={search}
        total={list.total}
        change={change}
        selectAll={() => selecting.mutate()}
      />
      {selected.size > 0 && (
        <div className="selection">
          <p role="status">{texts.acts.selected(selected.size)}</p>
          <button type="button" onClick={() => setSelected(new Set())}>
            {texts.acts.unselect}
          </button>
          <Actions verbs={VERBS_OF_MANY} slots={[...selected]} />
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
          selected={selected}
          toggle={toggle}
          see={setSeen}
        />
      )}
    </div>
  );
}

/** Slots of all machines that match now. What is asked of them names each one, and how many they are. */
async function slotsOf(filter: string): Promise<ReadonlySet<string>> {
  const address = addressOf(['machines'], { filter, limit: SELECTED_MAX });
  const signal = AbortSignal.timeout(SELECT_MAX_MS);
  const { machines, total } = await read<{
    readonly machines: readonly MachineRow[];
    readonly total: number;
  }>(address, signal);
  if (total > machines.length) throw new Error(texts.acts.selectMost(SELECTED_MAX));
  return new Set(machines.map(({ slot }) => slot));
}
const SELECT_MAX_MS = 30_000;
