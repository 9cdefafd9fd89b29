import type { ReactNode } from 'react';
import { columnOf, LINE_FIELD_NAMES, lineField } from '../../../src/domain/line-fields.ts';
import type { MachineRow } from '../../api/types.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { StateMark } from '../../parts/state.tsx';
import { Ago, Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

export interface Column {
  readonly name: string;
  readonly label: string;
  /** The sort key of the API. Absent: the list cannot be sorted by this column. */
  readonly sort?: string;
  /** A track of the CSS grid. */
  readonly width: string;
  readonly cell: (machine: MachineRow) => ReactNode;
}

const { columns: labels } = texts.machines;
const orNone = (value: string | null | undefined) => value ?? texts.none;

/** In display order. The first column is always shown. */
export const COLUMNS: readonly Column[] = [
  {
    ...{ name: 'slot', label: labels.slot, sort: 'slot', width: 'minmax(150px, 196px)' },
    cell: ({ slot }) => <MachineLink slot={slot} />,
  },
  {
    ...{ name: 'state', label: labels.state, sort: 'state', width: '204px' },
    cell: ({ state, substate }) => <StateMark state={state} substate={substate} />,
  },
  {
    ...{ name: 'since', label: labels.since, sort: 'since', width: '78px' },
    cell: ({ sinceMs }) => <Since atMs={sinceMs} />,
  },
  {
    ...{ name: 'heard', label: labels.heard, sort: 'heard', width: '90px' },
    cell: ({ lastHeartbeatAtMs }) =>
      lastHeartbeatAtMs === null ? texts.none : <Ago atMs={lastHeartbeatAtMs} />,
  },
  ...LINE_FIELD_NAMES.map((name): Column => {
    const [column, { label, width = 'minmax(120px, 1fr)', isMono }] = [
      columnOf(name),
      lineField(name),
    ];
    return {
      ...{ name: column, label, sort: column, width },
      cell: (machine) => (
        <span className={isMono ? 'mono' : undefined}>{orNone(machine[name])}</span>
      ),
    };
  }),
  {
    ...{ name: 'reason', label: labels.reason, width: 'minmax(160px, 3fr)' },
    cell: ({ reason, conditions, holds, elsewhere }) => (
      <span className="why" title={reason ?? undefined}>
        {conditions?.split(',').map((type) => (
          <span key={type} className="chip" data-alarm data-condition={type}>
            {type}
          </span>
        ))}
        {holds.map((hold) => (
          <span key={hold} className="chip" data-alarm>
            {hold}
          </span>
        ))}
        {elsewhere && <span className="chip">{texts.machines.elsewhere}</span>} {reason}
      </span>
    ),
  },
];

const USUAL = ['slot', 'state', 'since', 'heard', 'location', 'address', 'reason'];

/** The columns that an address asks for. */
export function columnsOf(asked: string | undefined): readonly Column[] {
  const names = new Set(['slot', ...(asked?.split(',') ?? USUAL)]);
  return COLUMNS.filter(({ name }) => names.has(name));
}

/** The address after a column is switched on or off. Undefined: the default columns. */
export function withColumn(asked: string | undefined, name: string): string | undefined {
  const names = columnsOf(asked).map((column) => column.name);
  const next = names.includes(name) ? names.filter((each) => each !== name) : [...names, name];
  const shown = COLUMNS.map((column) => column.name).filter((each) => next.includes(each));
  return shown.join() === USUAL.join() ? undefined : shown.join();
}
