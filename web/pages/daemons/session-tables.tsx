import type { SessionLine } from '../../api/resources.ts';
import { ConsoleLink } from '../../parts/console-link.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago, Since, Until } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

interface Props {
  readonly sessions: readonly SessionLine[];
}

const { columns } = texts.daemons;

export function LivingTable({ sessions }: Props) {
  if (sessions.length === 0) return <p className="quiet">{texts.daemons.nobody}</p>;
  return (
    <Table label={texts.daemons.alive} columns={columns.alive}>
      {sessions.map((session) => (
        <tr key={session.sessionId} data-session={session.sessionId}>
          <Who {...session} />
          <td>
            <Since atMs={session.startedAtMs} />
          </td>
          <td>{session.deadlineAtMs !== null && <Until atMs={session.deadlineAtMs} />}</td>
          <td>
            {session.work.length === 0
              ? texts.daemons.idle
              : session.work
                  .map(({ process, machines }) => texts.daemons.work(process, machines))
                  .join(', ')}
          </td>
          <td>{session.version ?? texts.none}</td>
          <td>{session.schema ?? texts.none}</td>
          <td>{session.roles?.join(', ') ?? texts.none}</td>
          <td>{session.logLevel ?? texts.none}</td>
          <td>{session.consoleUrl === null ? texts.none : <ConsoleLink {...session} />}</td>
        </tr>
      ))}
    </Table>
  );
}

export function EndedTable({ sessions }: Props) {
  if (sessions.length === 0) return <p className="quiet">{texts.daemons.noneEnded}</p>;
  return (
    <Table label={texts.daemons.ended} columns={columns.ended}>
      {sessions.map((session) => (
        <tr key={session.sessionId} data-session={session.sessionId}>
          <Who {...session} />
          <td>{session.endedAtMs !== null && <Ago atMs={session.endedAtMs} />}</td>
          <td>
            <Ago atMs={session.startedAtMs} />
          </td>
          <td>{session.version ?? texts.none}</td>
        </tr>
      ))}
    </Table>
  );
}

const Who = ({ host, runtimeInfo, component, isSelf, sessionId }: SessionLine) => (
  <th scope="row">
    {host ?? runtimeInfo} {component !== 'shepherd' && <span className="chip">{component}</span>}
    {isSelf && <span className="chip">{texts.daemons.self}</span>}
    <div className="mono quiet">{sessionId}</div>
  </th>
);
