import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { frame } from '../live/model.ts';
import { useStore } from '../live/store.ts';
import { texts } from '../texts.ts';

/** How the fleet is, in one line, on every page. */
export function FleetLine() {
  const told = useStore(frame);
  const running = told?.counts.Running ?? 0;
  const total = told === null ? 0 : told.total - told.counts.Released;
  useEffect(() => {
    document.title =
      told === null ? texts.product : `${texts.fleet.title(running, total)} · ${texts.product}`;
  }, [told, running, total]);
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
