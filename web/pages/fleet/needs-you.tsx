import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { needHuman } from '../../api/resources.ts';
import { MachineLink } from '../../parts/machine-link.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StateMark } from '../../parts/state.tsx';
import { Since } from '../../parts/time.tsx';
import { texts } from '../../texts.ts';

const SHOWN_MAX = 8;

/** Which machines wait for a person, the longest first, and why. `count`: of all of them. */
export function NeedsYou({ count }: { readonly count: number }) {
  const { data } = useQuery({ ...needHuman(count, SHOWN_MAX), placeholderData: keepPreviousData });
  const waiting = count === 0 ? [] : (data ?? []);
  return (
    <Panel title={<span id="needs-you">{texts.needsYou.title}</span>} className="needs-you">
      {count === 0 ? (
        <p className="quiet">{texts.needsYou.none}</p>
      ) : (
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
