import type { Machine } from '../api/types.ts';
import { texts } from '../texts.ts';

/** The state of a machine at the time when the dialog opened. */
export type Seen = Pick<Machine, 'state' | 'substate' | 'machineId' | 'holds' | 'requests'>;

export interface ChangedProps {
  readonly seen: Seen;
  /** The current state. For requests the console tells only that they changed. */
  readonly now: Partial<Omit<Seen, 'requests'>>;
}

/** Lists the differences between the seen state and the current state. */
export function Changed({ seen, now }: ChangedProps) {
  const rows = [
    [texts.acts.changed.state, placeOf(seen), placeOf(now)],
    [texts.acts.changed.machine, seen.machineId ?? texts.none, now.machineId ?? texts.none],
    [texts.acts.changed.holds, listOf(seen.holds), listOf(now.holds)],
  ] as const;
  const others = rows.filter(([, before, after]) => before !== after);
  if (others.length === 0) return <p>{texts.acts.changed.requests}</p>;
  return (
    <table className="changed">
      <thead>
        <tr>
          {texts.acts.changed.columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {others.map(([label, before, after]) => (
          <tr key={label}>
            <th scope="row">{label}</th>
            <td>{before}</td>
            <td>{after}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const placeOf = ({ state, substate }: Partial<Pick<Seen, 'state' | 'substate'>>): string =>
  `${state ?? texts.none} · ${substate ?? texts.none}`;
const listOf = (holds: Seen['holds'] = []): string => holds.join(', ') || texts.none;
