import { useNow } from '../live/clock.ts';
import { link, pageVersion, version } from '../live/model.ts';
import { useStore } from '../live/store.ts';
import { span } from '../parts/span.ts';
import { texts } from '../texts.ts';

/** Whether the data shown is current. */
export function LinkMark() {
  const { phase, refusal } = useStore(link);
  return (
    <span className="link" data-link={phase} role="status">
      {refusal === undefined ? texts.link[phase] : texts.link.refused}
    </span>
  );
}

/** Why the data shown is not current, and how old it is. */
export function LinkNotice() {
  const { phase, heardAt, refusal } = useStore(link);
  useNow();
  if (phase !== 'lost') return null;
  if (refusal !== undefined) {
    return (
      <div className="notice" data-tone="bad" role="alert">
        {texts.link.refusal(refusal.detail)}{' '}
        {refusal.status === 401 && <a href="/login">{texts.pages.login}</a>}
      </div>
    );
  }
  return (
    <div className="notice" data-tone="warn">
      {texts.link.stale(span(performance.now() - heardAt))}
    </div>
  );
}

/** Tells that the daemon runs another version than the daemon that sent this page. */
export function VersionNotice() {
  const now = useStore(version);
  if (pageVersion === null || now === null || now === pageVersion) return null;
  return (
    <div className="notice" data-tone="warn">
      {texts.versionChanged(pageVersion, now)}{' '}
      <button type="button" onClick={() => location.reload()}>
        {texts.reload}
      </button>
    </div>
  );
}
