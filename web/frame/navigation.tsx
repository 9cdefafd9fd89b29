import { Link } from '@tanstack/react-router';
import { texts } from '../texts.ts';
import { useStore } from '../live/store.ts';
import { useQuery } from '@tanstack/react-query';
import { about, cases, pools, whoami } from '../api/resources.ts';
import { version } from '../live/model.ts';

/** Pages of the menu, in its order; the letter goes there after `g`. */
export const MENU = [
  { to: '/', label: texts.pages.fleet, letter: 'f' },
  { to: '/machines', label: texts.pages.machines, letter: 'm' },
  { to: '/providers', label: texts.pages.providers, letter: 'p' },
  { to: '/guard', label: texts.pages.guard, letter: 'g' },
  { to: '/plan', label: texts.pages.plan, letter: 'l' },
  { to: '/cases', label: texts.pages.cases, letter: 'c' },
  { to: '/daemons', label: texts.pages.daemons, letter: 'd' },
  { to: '/audit', label: texts.pages.audit, letter: 'a' },
  { to: '/balancers', label: texts.pages.balancers, letter: 'b' },
  { to: '/inspector', label: texts.pages.inspector, letter: 'i' },
  { to: '/settings', label: texts.pages.settings, letter: 's' },
] as const;

export function Navigation() {
  const { data: balanced = [] } = useQuery({ ...pools, refetchInterval: 60_000 });
  const { data: open = [] } = useQuery({ ...cases, refetchInterval: 60_000 });
  const isInspecting = useQuery(about).data?.inspector === true;
  const caller = useQuery(whoami).data;
  const isAdmin = caller?.role === 'admin' && caller.providers === null;
  const isShown = ({ to }: (typeof MENU)[number]) => {
    if (to === '/balancers') return balanced.length > 0;
    if (to === '/cases') return open.length > 0;
    return to !== '/inspector' || (isInspecting && isAdmin);
  };
  const shown = MENU.filter(isShown);
  return (
    <nav className="menu" aria-label={texts.navigation}>
      <ul>
        {shown.map(({ to, label, letter }) => (
          <li key={to}>
            <Link to={to} activeOptions={{ exact: to === '/' }}>
              {label}
              <kbd aria-hidden="true">g {letter}</kbd>
            </Link>
          </li>
        ))}
      </ul>
      <Elsewhere />
    </nav>
  );
}

function Elsewhere() {
  const running = useStore(version);
  const inspector = useQuery(about).data?.inspectorUrl ?? '';
  return (
    <ul className="elsewhere">
      {/^https?:\/\//.test(inspector) && (
        <li>
          <a href={inspector} target="_blank" rel="noopener">
            {texts.links.stately}
          </a>
        </li>
      )}
      <li>
        <a href="/metrics">{texts.links.metrics}</a>
      </li>
      <li>
        <a href="/readyz">{texts.links.readiness}</a>
      </li>
      <li>
        <a href="/docs/">{texts.links.documents}</a>
      </li>
      <li>
        <a href="/licences.md">{texts.links.licences}</a>
      </li>
      {running !== null && <li className="version">{running}</li>}
    </ul>
  );
}
