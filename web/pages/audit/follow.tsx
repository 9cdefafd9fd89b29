import { texts } from '../../texts.ts';
import type { TrailProps } from './search.ts';

/** Whether what is new is looked for again and again. */
export const Follow = ({ search, change }: TrailProps) => (
  <label className="check">
    <input
      type="checkbox"
      checked={search.follow === 'on'}
      onChange={({ target }) => change({ follow: target.checked ? 'on' : '' })}
    />
    {texts.audit.follow}
  </label>
);
