import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { whoami } from '../api/resources.ts';
import { texts } from '../texts.ts';
import { FleetLine } from './fleet-line.tsx';
import { useGo } from './go.ts';
import { Help } from './help.tsx';
import { LinkMark, LinkNotice, VersionNotice } from './link-state.tsx';
import { Navigation } from './navigation.tsx';
import { Palette } from './palette.tsx';
import { StatusLine } from './status-line.tsx';
import { ThemeChoice } from './theme-choice.tsx';

const isStale = document.querySelector('meta[name=shepherd-page][content=stale]') !== null;

/** The frame around every page. */
export function Frame() {
  const main = useMainFocus();
  useGo();
  return (
    <>
      <a className="skip" href="#main">
        {texts.skip}
      </a>
      <header className="top">
        <Link to="/" className="product">
          <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
            <path d="M20.5 27V12.2a4.9 4.9 0 1 0-9.8 0v1.1" />
            <circle cx="10.7" cy="21.5" r="2.6" />
          </svg>
          {texts.product}
        </Link>
        <FleetLine />
        <Palette />
        <LinkMark />
        <LogIn />
        <ThemeChoice />
      </header>
      <Navigation />
      <main id="main" tabIndex={-1} ref={main}>
        <StatusLine />
        {isStale && (
          <div className="notice" data-tone="warn">
            {texts.pageStale}
          </div>
        )}
        <VersionNotice />
        <LinkNotice />
        <Outlet />
      </main>
      <Help />
    </>
  );
}

/** The link to the login, for a reader without a login. */
function LogIn() {
  const { data: person } = useQuery(whoami);
  if (person?.via !== 'none') return null;
  return (
    <a href="/login" className="button">
      {texts.pages.login}
    </a>
  );
}

/** Moves the focus to the new page, for screen readers and for the keyboard. */
function useMainFocus() {
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const seen = useRef(pathname);
  useEffect(() => {
    if (seen.current === pathname) return;
    seen.current = pathname;
    main.current?.focus({ preventScroll: true });
  }, [pathname]);
  return main;
}
