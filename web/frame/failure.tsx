import { Link, type ErrorComponentProps } from '@tanstack/react-router';
import { Notice } from '../parts/panel.tsx';
import { texts } from '../texts.ts';

/** Shown in place of a page that failed to render. The frame around it stays. */
export const Failure = ({ error, reset }: ErrorComponentProps) => (
  <Notice tone="bad" title={texts.failed}>
    <p>{error instanceof Error ? error.message : String(error)}</p>
    <button type="button" onClick={reset}>
      {texts.again}
    </button>
  </Notice>
);

export const NotFound = () => (
  <Notice tone="quiet" title={texts.notFound}>
    <p>
      <Link to="/">{texts.backToFleet}</Link>
    </p>
  </Notice>
);
