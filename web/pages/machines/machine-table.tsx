import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import { useEffect, useRef, useSyncExternalStore } from 'react';
import type { MachineRow } from '../../api/types.ts';
import { texts } from '../../texts.ts';
import type { Column } from './columns.tsx';
import type { Machines } from './selection.ts';
import type { Listed } from './use-list.ts';
import { useCursor } from './use-cursor.ts';

const ROW_PX = 30;
/** The estimated height on a phone, where each row has the height of its content. */
const NARROW_ROW_PX = 56;
const narrow = matchMedia('(max-width: 820px)');
const onNarrow = (told: () => void) => {
  narrow.addEventListener('change', told);
  return () => narrow.removeEventListener('change', told);
};

/** Adds rows to the selection, or takes them out. */
export type Select = (rows: readonly MachineRow[], isIn: boolean) => void;

export interface MachineTableProps {
  readonly columns: readonly Column[];
  readonly sort: string;
  readonly sortBy: (sort: string) => void;
  readonly list: Listed;
  readonly selected: Machines;
  readonly select: Select;
  readonly unselect: () => void;
  /** Called with the range of visible rows. */
  readonly see: (rows: { readonly first: number; readonly last: number }) => void;
}

/** The list of machines. Only visible rows are in the document. */
export function MachineTable(props: MachineTableProps) {
  const { columns, sort, sortBy, list, selected, select, unselect, see } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const count = list.total ?? 0;
  const isNarrow = useSyncExternalStore(onNarrow, () => narrow.matches);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? NARROW_ROW_PX : ROW_PX),
    overscan: 10,
  });
  useEffect(() => virtual.measure(), [isNarrow]);
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 40];
  useEffect(() => see({ first, last }), [first, last]);
  const toggle = (row: MachineRow) => select([row], !selected.has(row.slot));
  const cursor = useCursor({
    count,
    row: list.row,
    show: (at) => virtual.scrollToIndex(at),
    toggle,
  });
  const grid = { gridTemplateColumns: `28px ${columns.map(({ width }) => width).join(' ')}` };
  return (
    <div className="list" ref={scroller}>
      <div role="table" aria-label={texts.pages.machines} aria-rowcount={count + 1}>
        <div role="rowgroup" className="head">
          <div role="row" aria-rowindex={1} style={grid}>
            <div role="columnheader">
              <SelectShown {...{ list, selected, select, unselect }} range={virtual.range} />
            </div>
            {columns.map((column) => (
              <Heading key={column.name} column={column} sort={sort} sortBy={sortBy} />
            ))}
          </div>
        </div>
        <div role="rowgroup" className="rows" style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => (
            <Row
              key={item.key}
              {...{ item, columns, grid, selected, toggle }}
              machine={list.row(item.index)}
              isCursor={cursor === item.index}
              measure={isNarrow ? virtual.measureElement : null}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface SelectShownProps extends Pick<
  MachineTableProps,
  'list' | 'selected' | 'select' | 'unselect'
> {
  /** The rows in the window, without those that are drawn beyond it; null: not measured yet. */
  readonly range: { readonly startIndex: number; readonly endIndex: number } | null;
}

/** Selects the rows in the window. If all of them are selected, it ends the whole selection. */
function SelectShown({ list, selected, select, unselect, range }: SelectShownProps) {
  const { startIndex, endIndex } = range ?? { startIndex: 0, endIndex: -1 };
  const rows = Array.from({ length: endIndex - startIndex + 1 }, (_, at) =>
    list.row(startIndex + at),
  ).filter((row) => row !== undefined);
  const count = rows.filter(({ slot }) => selected.has(slot)).length;
  const isAll = count > 0 && count === rows.length;
  return (
    <input
      type="checkbox"
      aria-label={texts.acts.selectShown}
      checked={isAll}
      ref={(box) => {
        if (box !== null) box.indeterminate = count > 0 && !isAll;
      }}
      onChange={() => (isAll ? unselect() : select(rows, true))}
    />
  );
}

interface HeadingProps {
  readonly column: Column;
  readonly sort: string;
  readonly sortBy: (sort: string) => void;
}

function Heading({ column: { label, sort: own }, sort, sortBy }: HeadingProps) {
  if (own === undefined) return <div role="columnheader">{label}</div>;
  const order = sort === own ? 'ascending' : sort === `-${own}` ? 'descending' : 'none';
  return (
    <div role="columnheader" aria-sort={order}>
      <button type="button" onClick={() => sortBy(order === 'ascending' ? `-${own}` : own)}>
        {label}
      </button>
    </div>
  );
}

interface RowProps {
  readonly item: VirtualItem;
  readonly columns: readonly Column[];
  readonly grid: React.CSSProperties;
  /** Undefined: not loaded yet. */
  readonly machine: MachineRow | undefined;
  readonly isCursor: boolean;
  /** Measures the height of a row. Null: all rows have the same height. */
  readonly measure: ((row: HTMLElement | null) => void) | null;
  readonly selected: Machines;
  readonly toggle: (row: MachineRow) => void;
}

function Row({ item, columns, grid, machine, isCursor, measure, selected, toggle }: RowProps) {
  const transform = `translateY(${item.start}px)`;
  const place = { ...grid, transform, ...(measure === null && { height: ROW_PX }) };
  if (machine === undefined) {
    return (
      <div role="row" aria-rowindex={item.index + 2} aria-busy="true" style={place}>
        <div role="cell">{texts.machines.coming}</div>
      </div>
    );
  }
  return (
    <div
      role="row"
      ref={measure}
      aria-rowindex={item.index + 2}
      style={place}
      data-index={item.index}
      data-slot={machine.slot}
      data-cursor={isCursor || undefined}
    >
      <div role="cell" data-column="selection">
        <input
          type="checkbox"
          aria-label={texts.acts.select(machine.slot)}
          checked={selected.has(machine.slot)}
          onChange={() => toggle(machine)}
        />
      </div>
      {columns.map(({ name, cell }) => (
        <div key={name} role="cell" data-column={name} data-substate={machine.substate}>
          {cell(machine)}
        </div>
      ))}
    </div>
  );
}
