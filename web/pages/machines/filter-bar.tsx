import { useId } from 'react';
import { STATES } from '../../../src/domain/states.ts';
import { TypedText } from '../../parts/typed-text.tsx';
import { texts } from '../../texts.ts';
import { COLUMNS, columnsOf, withColumn } from './columns.tsx';
import { statesOf, toggled, type ListSearch } from './search.ts';

export interface FilterBarProps {
  readonly search: ListSearch;
  /** Machines that match; null: not known yet. */
  readonly total: number | null;
  readonly change: (search: ListSearch) => void;
}

export function FilterBar({ search, total, change }: FilterBarProps) {
  const filter = search.filter ?? '';
  return (
    <div className="filters" role="search">
      <TypedText
        id="filter"
        text={filter}
        set={(text) => change({ filter: text })}
        placeholder={texts.machines.placeholder}
        aria-label={texts.machines.filter}
        title={texts.machines.filterHelp}
      />
      <p className="count" role="status">
        {total === null ? '' : texts.machineCount(total)}
      </p>
      {filter !== '' && (
        <button type="button" onClick={() => change({ filter: '' })}>
          {texts.machines.clear}
        </button>
      )}
      <ColumnChoice search={search} change={change} />
      <ul className="state-terms" aria-label={texts.machines.states}>
        {STATES.map((state) => (
          <li key={state}>
            <button
              type="button"
              aria-pressed={statesOf(filter).includes(state)}
              title={texts.states[state]}
              onClick={() => change({ filter: toggled(filter, state) })}
            >
              <span className="state" data-state={state}>
                {state}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function ColumnChoice({ search, change }: Pick<FilterBarProps, 'search' | 'change'>) {
  const id = useId();
  const shown = columnsOf(search.columns);
  const toggle = (name: string) => {
    const { columns: _, ...rest } = search;
    const next = withColumn(search.columns, name);
    change(next === undefined ? { ...rest, columns: '' } : { columns: next });
  };
  return (
    <div className="columns">
      <button type="button" popoverTarget={id}>
        {texts.machines.columnChoice}
      </button>
      <div id={id} popover="auto">
        {COLUMNS.slice(1).map((column) => (
          <label key={column.name}>
            <input
              type="checkbox"
              checked={shown.includes(column)}
              onChange={() => toggle(column.name)}
            />{' '}
            {column.label}
          </label>
        ))}
      </div>
    </div>
  );
}
