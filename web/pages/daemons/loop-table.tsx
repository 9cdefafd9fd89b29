import type { LoopLine, SessionLine } from '../../api/resources.ts';
import { Table } from '../../parts/table.tsx';
import { span } from '../../parts/span.ts';
import { Ago } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

interface Props {
  readonly loops: readonly LoopLine[];
  readonly sessions: readonly SessionLine[];
}

export function LoopTable({ loops, sessions }: Props) {
  if (loops.length === 0) return <p className="quiet">{texts.daemons.noLoops}</p>;
  return (
    <Table label={texts.daemons.loops} columns={texts.daemons.columns.loops}>
      {loops.map((loop) => (
        <tr key={loop.name} data-loop={loop.name} data-late={loop.isLate || undefined}>
          <th scope="row">{loop.name}</th>
          <td>{texts.daemons.every(span(loop.periodMs))}</td>
          <td>
            {loop.lastSuccessAtMs === null ? texts.none : <Ago atMs={loop.lastSuccessAtMs} />}
          </td>
          <td>
            <LoopState {...loop} sessions={sessions} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The owner of the loop, or its failure. */
function LoopState({ doneBy, isLate, failure, sessions }: LoopLine & Pick<Props, 'sessions'>) {
  if (doneBy !== null) {
    const other = sessions.find(({ sessionId }) => sessionId === doneBy);
    return <span className="quiet">{texts.daemons.doneBy(other?.host ?? doneBy)}</span>;
  }
  return (
    <>
      {isLate && (
        <span className="chip" data-alarm>
          {texts.daemons.late}
        </span>
      )}{' '}
      {failure !== null && (
        <span className="why">
          {texts.daemons.failed(failure.count)} <Ago atMs={failure.lastAtMs} />: {failure.cause}
        </span>
      )}
      {!isLate && failure === null && texts.daemons.well}
    </>
  );
}
