import type { PreviewAnswer } from '../../src/console/api/submit/answers.ts';
import { shortName } from '../../src/domain/ids.ts';
import { Notice } from '../parts/panel.tsx';
import { texts } from '../texts.ts';

/** How a selection differs from the fleet as it is now. */
export interface Drift {
  /** Slots that match the filter now and are not selected. */
  readonly added: readonly string[];
  /** Selected slots that no longer match the filter. */
  readonly gone: readonly string[];
  /** Selected slots with another machine than at the time of the selection. */
  readonly replaced: readonly string[];
}

/** Asks what the request would do now. */
export type Look = () => Promise<PreviewAnswer>;

/** What a dialog needs to find out whether its machines are still the selected ones. */
export interface Checked {
  readonly drift: (look: Look) => Promise<Drift>;
  /** Selects what matches now; absent: the machines were selected one by one. */
  readonly selectAgain?: (() => Promise<unknown>) | undefined;
}

const NAMED_MAX = 10;

/** Tells what changed since the selection, and offers to select again. */
export function Drifted({
  drift,
  selectAgain,
}: Pick<Checked, 'selectAgain'> & { readonly drift: Drift }) {
  const lines = (['added', 'gone', 'replaced'] as const).filter((kind) => drift[kind].length > 0);
  if (lines.length === 0) return null;
  return (
    <Notice tone="warn" title={texts.acts.drift.title}>
      <ul role="status" className="drift">
        {lines.map((kind) => (
          <li key={kind}>
            {texts.acts.drift[kind](drift[kind].length)}{' '}
            <span className="slot">
              {drift[kind].slice(0, NAMED_MAX).map(shortName).join(', ')}
              {drift[kind].length > NAMED_MAX && ' …'}
            </span>
          </li>
        ))}
      </ul>
      {selectAgain !== undefined && (
        <button type="button" onClick={() => void selectAgain()}>
          {texts.acts.drift.selectAgain}
        </button>
      )}
    </Notice>
  );
}
