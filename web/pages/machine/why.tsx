import { useQuery } from '@tanstack/react-query';
import { explanation } from '../../api/resources.ts';
import type { Explanation, Machine } from '../../api/types.ts';
import { Panel } from '../../parts/panel.tsx';
import { Spoken } from '../../parts/spoken.tsx';
import { Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

export interface WhyProps {
  readonly slot: readonly [string, string];
  readonly machine: Machine;
}

/** Why the machine is in its state, what blocks it and until when, and what comes next. */
export function Why({ slot, machine: { reason } }: WhyProps) {
  const { data } = useQuery(explanation(slot));
  const told = data?.sentence ?? reason ?? texts.machine.noReason;
  return (
    <Panel title={texts.machine.why} className="explained">
      <p className="sentence">{told}</p>
      <Spoken text={told} />
      {data?.overdue === true && <p className="calls">{texts.machine.overdue}</p>}
      {data !== undefined && <Blocks {...data} />}
      {data !== undefined && <Next {...data} />}
    </Panel>
  );
}

function Blocks({ blockedBy }: Pick<Explanation, 'blockedBy'>) {
  if (blockedBy.length === 0) return null;
  return (
    <table>
      <thead>
        <tr>
          {texts.machine.blockColumns.map((label) => (
            <th key={label} scope="col">
              {label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {blockedBy.map(({ kind, text, endsAtMs, endedBy }) => (
          <tr key={`${kind} ${text}`} data-block={kind}>
            <th scope="row">{kind}</th>
            <td>{text}</td>
            <td>{endsAtMs === null ? texts.none : <Until atMs={endsAtMs} />}</td>
            <td>{endedBy}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const Next = ({ next: { text, atMs } }: Pick<Explanation, 'next'>) => (
  <p className="next">
    <b>{texts.machine.next}</b> {text}
    {atMs !== null && (
      <>
        {' '}
        <span className="timer">
          <Until atMs={atMs} />
        </span>
      </>
    )}
  </p>
);
