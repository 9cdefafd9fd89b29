import { useQuery } from '@tanstack/react-query';
import { Notice } from '../parts/panel.tsx';
import { texts } from '../texts.ts';
import { followed, type Submitted } from './submit.ts';

/** The submitted request: its current state, and its key. */
export function Outcome({
  submitted,
  close,
}: {
  readonly submitted: Submitted;
  readonly close: () => void;
}) {
  const { data: now, error } = useQuery(followed(submitted));
  const isRefused = 'state' in now ? now.state === 'refused' : now.counts.refused > 0;
  return (
    <>
      <Notice tone={isRefused ? 'bad' : 'quiet'} title={texts.acts.filed}>
        <p role="status">
          {'state' in now
            ? texts.acts.stands(now.state, now.outcome)
            : texts.acts.batch(now.counts)}
        </p>
        {'refusals' in now &&
          now.refusals.map(({ reason, count }) => (
            <p key={reason}>{texts.acts.ofMachines(count, reason)}</p>
          ))}
        {error !== null && <p className="quiet">{texts.acts.notFollowed(error.message)}</p>}
        <p className="quiet">
          {texts.acts.key} <span className="mono">{submitted.key}</span>
        </p>
      </Notice>
      <footer>
        <button type="button" onClick={close} autoFocus>
          {texts.acts.close}
        </button>
      </footer>
    </>
  );
}
