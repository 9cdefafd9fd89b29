import { Notice } from '../parts/panel.tsx';
import { texts } from '../texts.ts';
import type { Filed } from './filing.ts';

/** It was filed: how it stands, and the key under which it is found again. */
export function Outcome({ filed, close }: { readonly filed: Filed; readonly close: () => void }) {
  const isRefused = 'state' in filed && filed.state === 'refused';
  return (
    <>
      <Notice tone={isRefused ? 'bad' : 'quiet'} title={texts.acts.filed}>
        <p role="status">
          {'state' in filed
            ? texts.acts.stands(filed.state, filed.outcome)
            : texts.acts.batch(filed.counts)}
        </p>
        <p className="quiet">
          {texts.acts.key} <span className="mono">{filed.key}</span>
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
