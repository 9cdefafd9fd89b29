import { Link, useLocation, useParams } from '@tanstack/react-router';
import { useEffect } from 'react';
import { headlineText } from '../../src/domain/headline.ts';
import { frame } from '../live/model.ts';
import { useStore } from '../live/store.ts';
import { ShareLinks } from '../pages/fleet/headline.tsx';
import { texts } from '../texts.ts';
import { MENU } from './navigation.tsx';

/** The state of the fleet in one line, on every page. */
export function FleetLine() {
  const told = useStore(frame);
  const title = told && headlineText(told.headline);
  const page = usePageName();
  useEffect(() => {
    document.title = [page, title, texts.product].filter(Boolean).join(' · ');
  }, [page, title]);
  if (told === null) return <p className="fleet-line" />;
  const { guard, headline, status } = told;
  return (
    <p className="fleet-line">
      <span>
        <ShareLinks {...headline} />
      </span>
      <Link to="/" hash="guard" className="guard-link" data-guard={guard.state}>
        {texts.guard.title} <b>{texts.guard.word[guard.state]}</b>
      </Link>
      {status.needs.length > 0 && (
        <Link to="/" hash="needs-you" className="calls">
          {texts.needsYou.title}
        </Link>
      )}
    </p>
  );
}

/** The name of the page in the title of the tab. Null: the page of the fleet, which shows figures instead. */
function usePageName(): string | null {
  const { pathname } = useLocation();
  const { provider, slot } = useParams({ strict: false });
  if (provider !== undefined) return [provider, slot].filter(Boolean).join('/');
  return MENU.slice(1).find(({ to }) => to === pathname)?.label ?? null;
}
