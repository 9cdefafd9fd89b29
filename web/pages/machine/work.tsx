import { useQuery } from '@tanstack/react-query';
import { sessions } from '../../api/resources.ts';
import type { Machine } from '../../api/types.ts';
import { ConsoleLink } from '../../parts/console-link.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

/** The work under way, with the daemon that does it and a link to its console. */
export function WorkUnderWay({ work }: Pick<Machine, 'work'>) {
  const { data } = useQuery({ ...sessions, enabled: work.length > 0 });
  return work.map(({ process, sessionId, startedAtMs }) => {
    const session = data?.sessions.find((each) => each.sessionId === sessionId);
    return (
      <li key={process} data-work={process}>
        <span className="chip">{process}</span> {texts.forSpan} <Since atMs={startedAtMs} />{' '}
        <span className="quiet">
          {session?.isSelf === true
            ? texts.providers.thisDaemon
            : (session?.host ?? texts.machine.session(sessionId))}
        </span>{' '}
        {session !== undefined && !session.isSelf && <ConsoleLink {...session} />}
      </li>
    );
  });
}
