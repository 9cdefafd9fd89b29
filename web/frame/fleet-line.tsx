import { Link, useLocation, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { frame } from '../live/model.ts';
import { useStore } from '../live/store.ts';
import { texts } from '../texts.ts';
import { MENU } from './navigation.tsx';

/** How the fleet is, in one line, on every page. */
export function FleetLine() {
  const told = useStore(frame);
  const running = told?.counts.Running ?? 0;
  const total = told === null ? 0 : told.total - told.counts.Released;
  const title = told && texts.fleet.title(running, total);
  const page = usePageName();
  useEffect(() => {
    document.title = [page, title, texts.product].filter(Boolean).join(' · ');
  }, [page, title]);
  if (told === null) return <p className="fleet-line" />;
  const { guard, needHuman } = told;
  return (
    <p className="fleet-line">
      <Link to="/">{texts.fleet.title(running, total)}</Link>
      <Link to="/" hash="guard" className="guard-link" data-guard={guard.state}>
        {texts.guard.title} <b>{texts.guard.word[guard.state]}</b>
      </Link>
      {needHuman > 0 && (
        <Link to="/machines" search={{ filter: 'needs-human' }} className="calls">
          {texts.needsYou.count(needHuman)}
        </Link>
      )}
    </p>
  );
}

/** What tells the tabs of a browser apart; null: the page of the fleet, whose figures are its name. */
function usePageName(): string | null {
  const { pathname } = useLocation();
  const { provider, slot } = useParams({ strict: false });
  if (provider !== undefined) return [provider, slot].filter(Boolean).join('/');
  return MENU.slice(1).find(({ to }) => to === pathname)?.label ?? null;
}
