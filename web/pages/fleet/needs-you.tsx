import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { FreezeButtons } from '../../acts/freeze.tsx';
import { needHuman } from '../../api/resources.ts';
import type { Frame } from '../../api/types.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StateMark } from '../../parts/state.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

const SHOWN_MAX = 8;

type NeedsProps = Pick<Frame, 'status' | 'guard'> & {
  /** The number of machines that need a person. */
  readonly count: number;
};

/** What needs a person, and why. Machines are listed by waiting time. */
export function NeedsYou({ count, status, guard }: NeedsProps) {
  const { data } = useQuery({ ...needHuman(count, SHOWN_MAX), placeholderData: keepPreviousData });
  const waiting = count === 0 ? [] : (data ?? []);
  const isFrozen = (scope: string | null) =>
    guard.scopes.some((each) => each.scope === scope && each.state === 'frozen');
  return (
    <Panel title={<span id="needs-you">{texts.needsYou.title}</span>} className="needs-you">
      {status.needs.length === 0 && <p className="quiet">{texts.needsYou.none}</p>}
      <ul>
        {status.needs
          .filter(({ kind }) => kind !== 'machines')
          .map(({ kind, scope, title, text, sinceMs }) => (
            <li key={title} data-need={kind}>
              <b className="calls">{title}</b>
              {sinceMs !== null && <Since atMs={sinceMs} />}
              <p className="why">{text}</p>
              {kind === 'guard' && scope !== null && isFrozen(scope) && (
                <FreezeButtons scope={scope} isFrozen />
              )}
            </li>
          ))}
      </ul>
      {count > 0 && (
        <p>
          <Link to="/machines" search={{ filter: 'needs-human', sort: 'since' }} className="calls">
            {texts.needsYou.count(count)}
          </Link>
        </p>
      )}
      <ul>
        {waiting.map(({ slot, state, substate, sinceMs, reason }) => (
          <li key={slot} data-slot={slot}>
            <MachineLink slot={slot} />
            <StateMark state={state} substate={substate} />
            <Since atMs={sinceMs} />
            {reason !== null && <p className="why">{reason}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
