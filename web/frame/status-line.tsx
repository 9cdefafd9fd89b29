import { Link } from '@tanstack/react-router';
import { frame } from '../live/model.ts';
import { useStore } from '../live/store.ts';
import { Until } from '../parts/time.tsx';
import { texts } from '../texts.ts';

/** What needs a person, what Shepherd does now, and what comes next. */
export function StatusLine() {
  const told = useStore(frame);
  if (told === null) return null;
  const { needs, doing, next } = told.status;
  const { tone } = told.headline;
  const calm = tone === 'bad' || tone === 'warn' ? 'warn' : 'good';
  return (
    <p className="status-line" data-tone={needs.length > 0 ? 'bad' : calm}>
      <b>
        {needs.length === 0 ? (
          texts.status.nothing
        ) : (
          <Link to="/" hash="needs-you">
            {texts.status.needs(needs.map(({ title }) => title))}
          </Link>
        )}
      </b>
      <span>{texts.status.doing(doing)}</span>
      {next !== null && (
        <span>
          {texts.status.next} <Until atMs={next.atMs} />: {next.text}
        </span>
      )}
    </p>
  );
}
